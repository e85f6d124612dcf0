/** The record of operations, attempts and the journal: what the control socket pages through, and what commands show and erase. */
import { expect, test } from 'vitest'
import { command, control, fencegate } from '../support/operator.ts'
import { exchange, type RawRequest } from '../support/raw-client.ts'
import { refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, sidecar } = await scene({
  routes: [
    { name: 'pay', guard: 'once', match: { path: '/pay/{task}/*' }, once: { providerKey: 'derive' } },
    { name: 'loose', guard: 'once', match: { path: '/loose/{task}/*' }, token: 'optional' },
  ],
})

const pay = (task: string, token: string, key: string, request: RawRequest = {}): RawRequest => ({
  method: 'POST',
  target: `/pay/${task}/charge`,
  body: '{"amount":1}',
  ...request,
  headers: [
    ['Fencing-Token', token],
    ['Idempotency-Key', key],
    ['Fencing-Holder', `worker-${token}`],
  ],
})
const lose = () =>
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reset()
  })

interface Row {
  readonly [field: string]: unknown
}
async function page(list: string, query = ''): Promise<{ rows: Row[]; next?: number }> {
  const { status, body } = await control(sidecar, 'GET', `/v1/${list}${query}`)
  expect([status, body.error]).toEqual([200, undefined])
  const { [list]: rows, ...rest } = body
  return { rows: rows as Row[], ...rest }
}

const LARGE = '9007199254740993'

test('operations and attempts are listed with their tokens as strings, and filtered', async () => {
  upstream.answerOnce({ status: 503 })
  await send(pay('A', '9007199254740992', 'one'))
  upstream.answerOnce({ status: 201 })
  await send(pay('A', LARGE, 'one'))
  lose()
  await send(pay('A', LARGE, 'two'))
  await send({ method: 'POST', target: '/loose/B/x', headers: [['Idempotency-Key', 'one']] })

  const { rows: operations, next } = await page('operations', '?task=A')
  expect(next).toBeUndefined()
  expect(operations).toMatchObject([
    {
      ...{ scope: 'default', task: 'A', key: 'one', state: 'done', status: 201, everUnknown: false },
      providerKey: expect.stringMatching(/^fg-/),
    },
    { task: 'A', key: 'two', state: 'unknown', everUnknown: true },
  ])
  expect(operations[0]).not.toHaveProperty('body')
  expect((await page('operations', '?state=unknown')).rows).toMatchObject([{ key: 'two' }])
  expect((await page('operations', '?task=B&state=unknown')).rows).toEqual([])

  const { rows: attempts } = await page('attempts', '?task=A')
  expect(attempts).toMatchObject([
    {
      token: '9007199254740992',
      outcome: 'answered',
      status: 503,
      final: false,
      holder: 'worker-9007199254740992',
    },
    { token: LARGE, outcome: 'answered', status: 201, final: true },
    { token: LARGE, outcome: 'unknown', reason: 'connection-lost', route: 'pay', target: '/pay/A/charge' },
  ])
  const ids = async (query: string) => (await page('attempts', query)).rows.map(({ id }) => id)
  const [first, second, third] = attempts.map(({ id }) => id)
  expect(await ids(`?task=A&token=${LARGE}`)).toEqual([second, third])
  expect(await ids(`?operation=${operations[0]?.id}`)).toEqual([first, second])
  const [loose] = (await page('attempts', '?task=B')).rows
  expect(loose).toMatchObject({ operation: { key: 'one', task: 'B' }, outcome: 'answered' })
  expect(loose).not.toHaveProperty('token')
})

test('pages follow each other without a gap or an overlap, and end', async () => {
  for (let i = 0; i < 7; i++) await send(pay('P', '1', `key-${i}`))
  for (const list of ['operations', 'attempts']) {
    const seen: unknown[] = []
    let after: number | undefined = 0
    while (after !== undefined) {
      const { rows, next }: Awaited<ReturnType<typeof page>> = await page(
        list,
        `?task=P&limit=3&after=${after}`,
      )
      expect(rows.length).toBeLessThanOrEqual(3)
      seen.push(...rows.map((row) => row.key ?? (row.operation as Row).key))
      after = next
    }
    expect(seen).toEqual(Array.from({ length: 7 }, (_, i) => `key-${i}`))
  }
})

test.each([
  ['operations?limit=0', 400, 'write a whole number from 1 to 1000'],
  ['attempts?limit=1001', 400, 'write a whole number from 1 to 1000'],
  ['journal?after=-1', 400, 'query/after must be integer: write a whole number from 0 to 9007199254740991'],
  ['journal?after=9007199254740992', 400, 'query/after must be <= 9007199254740991'],
  ['attempts?token=1e3', 400, 'in decimal digits from 1 to 9223372036854775807'],
  ['operations?task=a%20b', 400, '1 to 256 visible ASCII characters'],
  ['operations?state=lost', 400, 'state'],
  ['operations?stat=open', 400, 'additional'],
  ['operations?token=1', 400, 'additional'],
  ['journal?task=A&task=B', 400, 'task'],
])('GET /v1/%s is refused', async (query, status, message) => {
  const answer = await control(sidecar, 'GET', `/v1/${query}`)
  expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(message)])
})

test('the journal has handovers, stale rejections and acts, and its commands show them', async () => {
  await send(pay('J', '1', 'a'))
  await send(pay('J', '2', 'b'))
  refusal(await send(pay('J', '1', 'c')), 412, 'stale-token')
  await command(sidecar, 'raise', 'J', '--token', '3', '--reason', '=HYPERLINK("x")', '--by', 'ana')
  const journal = async () => (await page('journal', '?task=J')).rows
  const has = async (kind: string, token: string) =>
    (await journal()).some((entry) => entry.kind === kind && entry.token === token)
  await until(async () => (await has('rejection', '1')) && has('handover', '3'), 'the entries')
  const entries = await journal()
  expect(new Set(entries.map(({ kind }) => kind))).toEqual(new Set(['handover', 'rejection', 'act']))
  expect((await page('journal', '?task=J&token=1')).rows).toContainEqual(
    expect.objectContaining({
      kind: 'rejection',
      token: '1',
      data: expect.objectContaining({ highest: '2' }),
    }),
  )
  const listed = await fencegate('journal', '--task', 'J', '--format', 'jsonl', '--data', sidecar.data)
  expect(
    listed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(entries)
  const table = await fencegate('journal', '--task', 'J', '--token', '3', '--data', sidecar.data)
  expect(table).toMatchObject({ code: 0, stderr: '' })
  expect(table.stdout).toMatch(/act +J +3 +act=raise by=ana reason="=HYPERLINK\(\\"x\\"\)"\n/)
})

test('operations as a table, and none', async () => {
  const some = await fencegate('operations', '--task', 'A', '--state', 'unknown', '--data', sidecar.data)
  expect(some.stdout).toMatch(/^KEY +STATE .*\ntwo +unknown .* A +default\n$/)
  const none = await fencegate('operations', '--task', 'nobody', '--format', 'csv', '--data', sidecar.data)
  expect(none).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^scope,task,idempotency_key,[a-z_,]+\r\n$/),
    stderr: 'No such operation is on record.\n',
  })
})

test('erase takes recorded bodies, on record as an act; what was done stays done', async () => {
  upstream.answerOnce({ status: 201, body: '{"card":"4242"}' })
  await send(pay('E', '1', 'a'))
  upstream.answerOnce({ status: 201, body: '{"card":"4242"}' })
  await send(pay('F', '1', 'a'))
  const held = upstream.hold()
  const open = send(pay('E', '1', 'b'))
  await held.arrived

  const because = ['--reason', 'request 118', '--by', 'ana', '--data', sidecar.data] as const
  const erased = await fencegate('erase', 'E', ...because)
  expect(erased).toMatchObject({ code: 0, stderr: '' })
  expect(erased.stdout).toMatch(
    /^The recorded answers' bodies of E are erased\.\nStill open, and their answers are kept when they come: erase again then\.\n {2}token 1 {2}POST \/pay\/E\/charge {2}route pay {2}open for \d+\.\d s\n$/,
  )
  held.release()
  await open

  const bodies = async (task: string) =>
    (await page('operations', `?task=${task}`)).rows.map((row) => row.bodyKept)
  expect([await bodies('E'), await bodies('F')]).toEqual([['erased', 'plain'], ['plain']])
  refusal(await exchange(sidecar.port, pay('E', '1', 'a')), 409, 'operation-done')
  expect(await control(sidecar, 'POST', '/v1/tasks/E/erase', { by: 'ana', reason: 'again' })).toEqual({
    status: 200,
    body: { task: 'E', mark: '1', frozen: false, passes: '1', open: [] },
  })
  expect(await bodies('E')).toEqual(['erased', 'erased'])
  const acts = (await page('journal', '?task=E')).rows.filter(({ kind }) => kind === 'act')
  expect(acts.map(({ data }) => data)).toEqual([
    { act: 'erase', by: 'ana', reason: 'request 118' },
    { act: 'erase', by: 'ana', reason: 'again' },
  ])

  const misspelt = await fencegate('erase', 'EE', ...because)
  expect(misspelt).toEqual({
    code: 64,
    stdout: '',
    stderr: 'fencegate: no operation of the task EE is on record: there is nothing to erase\n',
  })
  expect((await control(sidecar, 'POST', '/v1/tasks/E/erase', { by: 'ana' })).status).toBe(400)
})
