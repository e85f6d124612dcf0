/** The commands that list the record: every page, in each format, and nothing that a terminal or a spreadsheet would obey. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { answering, paging } from '../support/answering-socket.ts'
import { captureOutput } from '../support/captured-output.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const output = captureOutput()
const AT = Date.UTC(2026, 10, 29, 3, 4, 5)
const TIME = '2026-11-29T03:04:05.000Z'

const JOURNAL = [
  { seq: 1, atMs: AT, kind: 'handover', task: 'T', token: '9007199254740993', data: { ms: 12 } },
  { seq: 2, atMs: AT, kind: 'act', task: '=T', data: { act: 'freeze', by: 'ana', reason: 'a "b"\u001b[2J' } },
  { seq: 5, atMs: AT, kind: 'dropped', data: { count: 3 } },
]

test('the journal as a table, over its pages', async () => {
  const { data, asked } = await answering(paging({ journal: JOURNAL }))
  expect(await run(['journal', '--data', data])).toBe(0)
  expect(output.stdout).toBe(
    [
      'TIME                      KIND      TASK  TOKEN             DETAILS',
      `${TIME}  handover  T     9007199254740993  ms=12`,
      `${TIME}  act       =T                      act=freeze by=ana reason="a \\"b\\"\\u001b[2J"`,
      `${TIME}  dropped                           count=3`,
      '',
    ].join('\n'),
  )
  expect([output.stderr, asked]).toEqual([
    '',
    ['GET /v1/journal?limit=500&after=0', 'GET /v1/journal?limit=500&after=2'],
  ])
})

test('the journal as CSV and as JSON Lines', async () => {
  const { data } = await answering(paging({ journal: JOURNAL }))
  expect(await run(['journal', '--format', 'csv', '--data', data])).toBe(0)
  expect(output.stdout.split('\r\n')).toEqual([
    'seq,at,kind,task,token,data',
    `1,${TIME},handover,T,9007199254740993,"{""ms"":12}"`,
    `2,${TIME},act,'=T,,"{""act"":""freeze"",""by"":""ana"",""reason"":""a \\""b\\""\\u001b[2J""}"`,
    `5,${TIME},dropped,,,"{""count"":3}"`,
    '',
  ])
  output.stdout = ''
  expect(await run(['journal', '--format', 'jsonl', '--data', data])).toBe(0)
  expect(output.stdout).toBe(JOURNAL.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
})

const operation = (key: string, more: object = {}) => ({
  ...{
    seq: 1,
    id: `id-${key}`,
    scope: 's',
    task: 'T',
    key,
    providerKey: key,
    fingerprint: 'f',
    state: 'done',
  },
  ...{ everUnknown: false, firstAtMs: AT, lastAtMs: AT, keepUntilMs: AT, status: 201, bodyKept: 'plain' },
  ...more,
})
let attempts = 0
const attempt = (key: string, token: string | undefined, more: object = {}) => ({
  ...{ seq: ++attempts, id: `attempt-${attempts}`, operation: { id: '', scope: 's', task: 'T', key }, token },
  ...{ route: 'pay', method: 'POST', target: '/x', atMs: AT, outcome: 'answered', status: 201, final: true },
  ...more,
})
const LOST = { outcome: 'unknown', status: undefined, final: false, reason: 'timeout' }

test('operations as a table and as CSV', async () => {
  const operations = [
    operation('a'),
    operation('b', { state: 'failed', status: undefined, everUnknown: true }),
  ]
  const { data } = await answering(paging({ operations }))
  expect(await run(['operations', '--data', data])).toBe(0)
  expect(output.stdout.split('\n')).toEqual([
    'KEY  STATE                STATUS  BODY   FIRST                     LAST                      TASK  SCOPE',
    `a    done                 201     plain  ${TIME}  ${TIME}  T     s`,
    `b    failed, was unknown          plain  ${TIME}  ${TIME}  T     s`,
    '',
  ])
  output.stdout = ''
  expect(await run(['operations', '--format', 'csv', '--data', data])).toBe(0)
  expect(output.stdout.split('\r\n').slice(0, 2)).toEqual([
    'scope,task,idempotency_key,provider_key,state,ever_unknown,status,body_kept,first_at,last_at,keep_until,id',
    `s,T,a,a,done,false,201,plain,${TIME},${TIME},${TIME},id-a`,
  ])
})

/** What `reconcile` prints of these, by line. */
async function reconciled(lists: Record<string, object[]>, ...args: string[]): Promise<string[]> {
  const { data } = await answering(paging(lists))
  expect(await run(['reconcile', '--task', 'T', ...args, '--data', data])).toBe(0)
  return output.stdout.split(/\r?\n/).slice(0, -1)
}

test('attempts side by side, with what has to be found out', async () => {
  const lists = {
    operations: ['both', 'lost', 'busy', 'gone'].map((key) => operation(key, { state: 'open' })),
    attempts: [
      attempt('both', '10', { ...LOST, resolution: 'not-applied' }),
      attempt('lost', '9', LOST),
      attempt('busy', undefined, { status: 503, final: false }),
      attempt('both', '9', { outcome: 'not-sent', status: undefined, final: false }),
      attempt('both', '10', { outcome: 'open', status: undefined, final: false }),
    ],
  }
  expect(await reconciled(lists)).toEqual([
    'OPERATION  STATE              TOKEN 9                      TOKEN 10                                    NO TOKEN',
    'both       open, two holders  not sent                     unknown (timeout), found not-applied; open',
    `lost       unknown            unknown (timeout) ${lists.attempts[1]?.id}`,
    'busy       failed                                                                                      answered 503, not final',
  ])
  expect(output.stderr).toBe(
    '3 operations: 1 open, 1 unknown, 1 failed; 1 attempted by two holders.\n' +
      '1 operation is left out: retention is taking it off the record.\n',
  )
})

test('what happened again and again is one entry of a cell', async () => {
  const busy = { status: 503, final: false }
  const lists = {
    operations: [operation('a')],
    attempts: [attempt('a', '1', busy), attempt('a', '1', busy), attempt('a', '1'), attempt('a', '1', busy)],
  }
  const [, row] = await reconciled(lists)
  expect(row).toMatch(/ {2}answered 503, not final, 2 times; answered 201; answered 503, not final$/)
})

test('many tokens share a column; scopes and provider keys are shown where they say something', async () => {
  const tokens = ['1', '2', '3', '4', '5', '6', '7']
  const lists = {
    operations: [
      operation('a', { providerKey: 'fg-a', state: 'failed' }),
      operation('a', { scope: 't', providerKey: 'fg-b' }),
    ],
    attempts: tokens.map((token) => attempt('a', token, { status: 503, final: false })),
  }
  lists.attempts.push({ ...attempt('a', '7'), operation: { id: '', scope: 't', task: 'T', key: 'a' } })
  const all = tokens.map((token) => `TOKEN ${token}: answered 503, not final`).join('; ')
  expect((await reconciled(lists)).map((line) => line.replaceAll(/ {2,}/g, '  '))).toEqual([
    'OPERATION  PROVIDER KEY  SCOPE  STATE  ATTEMPTS',
    `a  fg-a  s  failed, two holders  ${all}`,
    'a  fg-b  t  applied  TOKEN 7: answered 201',
  ])
})

test('one line of CSV for each attempt, one of JSON for each operation, by token and scope', async () => {
  const lists = {
    operations: [operation('a'), operation('b'), operation('c', { scope: 't' })],
    attempts: [attempt('a', '8', LOST), attempt('b', '9'), attempt('a', '9', { holder: '@w' })],
  }
  lists.attempts.push({ ...attempt('c', '8'), operation: { id: '', scope: 't', task: 'T', key: 'c' } })
  const [lost, , then] = lists.attempts
  expect(await reconciled(lists, '--format', 'csv', '--token', '8', '--scope', 's')).toEqual([
    'scope,idempotency_key,provider_key,state,two_holders,token,holder,route,method,target,at,outcome,status,final,reason,resolution,attempt',
    `s,a,a,conflicting,true,8,,pay,POST,/x,${TIME},unknown,,false,timeout,,${lost?.id}`,
    `s,a,a,conflicting,true,9,'@w,pay,POST,/x,${TIME},answered,201,true,,,${then?.id}`,
  ])
  output.stdout = ''
  const json = (await reconciled(lists, '--format', 'jsonl', '--token', '8')).map((line) => JSON.parse(line))
  expect(json).toMatchObject([
    { key: 'a', state: 'conflicting', byTwoHolders: true, attempts: [{ token: '8' }, { token: '9' }] },
    { key: 'c', scope: 't', state: 'applied', attempts: [{ id: expect.any(String) }] },
  ])
  output.stdout = ''
  expect((await reconciled(lists, '--canonical')).map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
    ['OPERATION', 'STATE', 'TOKEN'],
    ['a', 'conflicting, two holders', '9'],
    ['b', 'applied', '9'],
    ['c', 'applied', '8'],
  ])
})

test.each<[string, string[], string]>([
  ['no task', [], "required option '--task <task>'"],
  [
    'a token that is none',
    ['--task', 'T', '--token', '+1'],
    '--token: "+1" is not a decimal integer from 1 to',
  ],
  ['a format that is none', ['--task', 'T', '--format', 'xml'], 'Allowed choices are table, jsonl, csv'],
  [
    'both lists',
    ['--task', 'T', '--canonical', '--check', 'a.csv'],
    "cannot be used with option '--canonical'",
  ],
  ['a key without a check', ['--task', 'T', '--check-key', 'k'], 'need --check: name the file'],
  [
    'an export of no format',
    ['--task', 'T', '--check', 'export.txt'],
    "--check: whether export.txt is CSV or JSON Lines can't be told from its name: say so with --check-format",
  ],
  [
    'a field that is none',
    ['--task', 'T', '--check', 'a.csv', '--check-column', 'amount=amount'],
    '--check-column: "amount=amount" is not COLUMN=FIELD with a field of scope, idempotency_key,',
  ],
  [
    'a column without a name',
    ['--task', 'T', '--check', 'a.csv', '--check-column', '=status'],
    '"=status" is not',
  ],
])('reconcile with %s: 64', async (_, args, message) => {
  expect(await run(['reconcile', ...args])).toBe(64)
  expect([output.stdout, output.stderr]).toEqual(['', expect.stringContaining(message)])
})

test('a check of nothing is refused, and does not pass', async () => {
  const lists = { operations: [operation('a')], attempts: [attempt('a', '9')] }
  const { data } = await answering(paging(lists))
  const file = path.join(temporaryDirectory(), 'export.csv')
  fs.writeFileSync(file, 'idempotency_key\na\n')
  const check = ['reconcile', '--task', 'T', '--check', file, '--data', data]
  expect(await run([...check, '--scope', 'x'])).toBe(64)
  expect(await run([...check, '--token', '8'])).toBe(64)
  expect([output.stdout, output.stderr]).toEqual(['', expect.stringContaining('there is nothing to check')])
  expect(await run([...check, '--token', '9', '--scope', 's'])).toBe(0)
})

test('a key of two scopes: 64, and how to tell which is meant', async () => {
  const lists = {
    operations: [operation('a'), operation('a', { scope: 't' })],
    attempts: [attempt('a', '9')],
  }
  lists.attempts.push({ ...attempt('a', '9'), operation: { id: '', scope: 't', task: 'T', key: 'a' } })
  const { data } = await answering(paging(lists))
  const file = path.join(temporaryDirectory(), 'export.csv')
  fs.writeFileSync(file, 'idempotency_key\na\n')
  const check = ['reconcile', '--task', 'T', '--check', file, '--data', data]
  expect(await run(check)).toBe(64)
  expect([output.stdout, output.stderr]).toEqual([
    '',
    `fencegate: ${file}, line 2: operations of the scopes s and t have the key a: name the one of this export with --scope\n`,
  ])
  expect(await run([...check, '--scope', 't'])).toBe(0)
})

test('a page that fails is a failure, not an end', async () => {
  const pages = paging({ journal: JOURNAL })
  const { data } = await answering((req, res) => {
    if (req.url?.endsWith('after=2')) res.writeHead(503).end('{"error":"the store is busy"}')
    else pages(req, res)
  })
  expect(await run(['journal', '--format', 'jsonl', '--data', data])).toBe(69)
  expect([output.stdout.split('\n').length, output.stderr]).toEqual([3, 'fencegate: the store is busy\n'])
})

test.each([
  ['that wants no more', 'EPIPE', 0, /^$/],
  [
    'with a full disk',
    'ENOSPC',
    69,
    /can't write to standard output \(ENOSPC\): what is there is not all of it/,
  ],
])('a reader %s', async (_, code, exitCode, message) => {
  const { data, asked } = await answering(
    paging({ journal: Array.from({ length: 40 }, () => JOURNAL[0] as object) }),
  )
  const before = process.stdout.listenerCount('error')
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((_text, ...rest) => {
    const error = Object.assign(new Error(code), { code })
    process.nextTick(() => {
      ;(rest.at(-1) as (error: Error) => void)(error)
      process.stdout.emit('error', error)
    })
    return false
  })
  onTestFinished(() => write.mockRestore())
  for (const format of ['table', 'csv']) {
    expect(await run(['journal', '--format', format, '--data', data])).toBe(exitCode)
  }
  expect(output.stderr).toMatch(message)
  expect(asked.length).toBeLessThanOrEqual(4)
  expect(process.stdout.listenerCount('error')).toBe(before)
})
