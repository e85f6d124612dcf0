/**
 * An incident reconciled with the real commands: two holders attempt the same operations, some of which nobody knows
 * the outcome of; somebody finds out, and a provider's export is compared with what the record then says.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { type CommandResult, control, fencegate, unknown } from '../support/operator.ts'
import type { RawRequest } from '../support/raw-client.ts'
import { scene } from '../support/scene.ts'
import { temporaryDirectory } from '../support/sidecar.ts'

const { upstream, send, sidecar } = await scene({
  routes: [
    {
      name: 'transfers',
      guard: 'once',
      match: { path: '/transfers/{task}/*' },
      once: { repeatUnknown: 'send', providerKey: 'derive', scope: 'bank' },
    },
  ],
})
const directory = temporaryDirectory()

async function attempt(token: number, key: string, answer: number | 'lost'): Promise<void> {
  if (answer === 'lost') {
    upstream.once(async (exchange) => {
      await exchange.wholeBody()
      exchange.reset()
    })
  } else upstream.answerOnce({ status: answer })
  const request: RawRequest = {
    method: 'POST',
    target: '/transfers/T/new',
    body: key,
    headers: [
      ['Fencing-Token', String(token)],
      ['Idempotency-Key', key],
      ['Fencing-Holder', `worker-${token}`],
    ],
  }
  expect((await send(request)).status).toBe(answer === 'lost' ? 502 : answer)
}

function reconcile(...args: string[]): Promise<CommandResult> {
  return fencegate('reconcile', '--task', 'T', ...args, '--data', sidecar.data)
}

interface Reconciled {
  readonly key: string
  readonly providerKey: string
  readonly state: string
  readonly byTwoHolders: boolean
  readonly attempts: { readonly id: string; readonly token: string }[]
}

async function operations(...args: string[]): Promise<Reconciled[]> {
  const { code, stdout } = await reconcile('--format', 'jsonl', ...args)
  expect(code).toBe(0)
  return lines(stdout)
}

function lines<T>(text: string): T[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

async function resolve(key: string, resolutions: Record<number, string>): Promise<void> {
  const records = (await unknown(sidecar)).filter(({ operation }) => operation === key)
  for (const [token, resolution] of Object.entries(resolutions)) {
    const record = records.find((one) => one.token === token)
    const body = { by: 'ana', reason: 'in the ledger', resolution }
    expect((await control(sidecar, 'POST', `/v1/unknown/${record?.id}/resolve`, body)).status).toBe(200)
  }
}

const verdicts = (list: Reconciled[]) => list.map(({ key, state }) => `${key} ${state}`)

test('attempts by operation and token, with what is applied, unknown, conflicting or of two holders', async () => {
  await attempt(50, 'paid', 201)
  await attempt(50, 'refused', 402)
  await attempt(50, 'twice', 'lost')
  await attempt(50, 'lost', 'lost')
  await attempt(50, 'gone', 'lost')
  await attempt(51, 'twice', 201)
  await attempt(51, 'lost', 'lost')
  await attempt(51, 'later', 200)

  const table = await reconcile()
  expect(table.code).toBe(0)
  const cells = table.stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(cells[0]).toEqual(['OPERATION', 'PROVIDER KEY', 'STATE', 'TOKEN 50', 'TOKEN 51'])
  const [, , lost] = (await unknown(sidecar)).filter(({ task }) => task === 'T')
  expect(cells.slice(1).map(([key, , ...rest]) => [key, ...rest])).toEqual([
    ['paid', 'applied', 'answered 201'],
    ['refused', 'failed', 'answered 402'],
    [
      'twice',
      'conflicting, two holders',
      expect.stringMatching(/^unknown \(connection-lost\) [0-9a-f-]{36}$/),
      'answered 201',
    ],
    ['lost', 'unknown, two holders', expect.stringContaining('unknown'), expect.stringContaining('unknown')],
    ['gone', 'unknown', `unknown (connection-lost) ${lost?.id}`],
    ['later', 'applied', 'answered 200'],
    [''],
  ])
  expect(table.stderr).toBe(
    '6 operations: 2 applied, 2 unknown, 1 conflicting, 1 failed; 2 attempted by two holders.\n',
  )
  expect(verdicts(await operations('--token', '51'))).toEqual([
    'twice conflicting',
    'lost unknown',
    'later applied',
  ])
})

test('what somebody finds out settles it', async () => {
  await resolve('twice', { 50: 'not-applied' })
  await resolve('lost', { 50: 'applied', 51: 'applied' })
  await resolve('gone', { 50: 'compensated' })
  expect(verdicts(await operations())).toEqual([
    'paid applied',
    'refused failed',
    'twice applied',
    'lost conflicting',
    'gone compensated',
    'later applied',
  ])
  const { stdout } = await reconcile('--canonical', '--format', 'csv')
  const [names = '', ...rows] = stdout.split('\r\n').map((line) => line.split(','))
  const column = (name: string) => (row: string[]) => row[names.indexOf(name)]
  expect(
    rows
      .slice(0, -1)
      .map((row) =>
        ['idempotency_key', 'state', 'token', 'holder', 'status', 'resolution'].map((name) =>
          column(name)(row),
        ),
      ),
  ).toEqual([
    ['paid', 'applied', '50', 'worker-50', '201', ''],
    ['twice', 'applied', '51', 'worker-51', '201', ''],
    ['lost', 'conflicting', '50', 'worker-50', '', 'applied'],
    ['later', 'applied', '51', 'worker-51', '200', ''],
  ])
})

test('an export that agrees: 0; by the derived key or the client’s, as CSV or JSON Lines', async () => {
  const keyOf = Object.fromEntries((await operations()).map(({ key, providerKey }) => [key, providerKey]))
  const csv = path.join(directory, 'agrees.csv')
  fs.writeFileSync(csv, `id,idempotency_key\n1,${keyOf.paid}\n2,${keyOf.twice}\n3,lost\n4,later\n`)
  expect(await reconcile('--check', csv)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining(`${csv} has 4 entries: 0 missing, 0 extra, 0 differing.\n`),
  })
  const jsonl = path.join(directory, 'agrees.jsonl')
  const entry = (key: string, by: number) => JSON.stringify({ request: { key }, by })
  fs.writeFileSync(jsonl, ['later', 'twice'].map((key) => `${entry(key, 51)}\n`).join(''))
  const selected = [
    '--token',
    '51',
    '--check',
    jsonl,
    '--check-key',
    '/request/key',
    '--check-column',
    'by=token',
  ]
  expect(await reconcile(...selected)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^.*\nmissing .*lost.*\n$/),
  })
})

test('an export that does not: 1, and what is missing, extra and differing', async () => {
  const file = path.join(directory, 'differs.jsonl')
  const entries = [
    { key: 'paid', code: 201 },
    { key: 'refused', code: 402 },
    { key: 'gone' },
    { key: 'twice', code: 200 },
    { key: 'twice', code: 201 },
    { key: null },
    { key: 'lost', code: 999 },
    { key: 'other' },
  ]
  fs.writeFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
  const check = ['--check', file, '--check-key', 'key', '--check-column', 'code=status']
  const { code, stdout } = await reconcile(...check, '--format', 'jsonl')
  expect(code).toBe(1)
  expect(lines(stdout)).toMatchObject([
    { difference: 'extra', line: 2, key: 'refused', because: 'failed' },
    { difference: 'extra', line: 3, key: 'gone', because: 'compensated' },
    { difference: 'differing', line: 4, key: 'twice', column: 'code', recorded: '201', exported: '200' },
    { difference: 'extra', line: 5, key: 'twice', because: 'repeated' },
    { difference: 'extra', line: 6, because: 'not-on-record' },
    { difference: 'extra', line: 8, key: 'other', because: 'not-on-record' },
    { difference: 'missing', idempotencyKey: 'later', scope: 'bank', attempt: expect.any(String) },
  ])
  const table = await reconcile(...check)
  expect(table.code).toBe(1)
  expect(table.stdout).toMatch(/^differing +4 +twice +twice +code: "200", on record "201"$/m)
  expect(table.stderr).toContain(`${file} has 8 entries: 1 missing, 5 extra, 1 differing.\n`)
})

test('a malformed export: 64, with the file, the line, the fault and the remedy', async () => {
  const file = path.join(directory, 'malformed.csv')
  fs.writeFileSync(file, 'idempotency_key,amount\npaid,"1,000"\ntwice,1,000\n')
  expect(await reconcile('--check', file)).toEqual({
    code: 64,
    stdout: '',
    stderr: `fencegate: ${file}, line 3: 3 fields where the first line names 2: quote fields that hold commas\n`,
  })
})

test('nothing of it changed the record', async () => {
  const rows = async (list: string) =>
    (await control(sidecar, 'GET', `/v1/${list}?task=T`)).body[list] as unknown[]
  expect([(await rows('operations')).length, (await rows('attempts')).length]).toEqual([6, 8])
})
