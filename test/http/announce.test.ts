/** Announcements: a new holder fences the old one, and hears when it may begin, without a write. */
import { expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { unknown } from '../support/operator.ts'
import { encode, exchange, type RawRequest } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const commits = new Commits()
const { upstream, sidecar, send, connect, metric } = await scene(
  {
    claim: { maxToken: '1000', maxTokenJump: '500' },
    routes: [
      { name: 'settlements', match: { path: '/settlements/{task}/*' } },
      { name: 'reports', match: { methods: ['PUT'], path: '/reports/{task}' } },
      { name: 'abort', match: { path: '/abort/*' }, handover: 'abort' },
    ],
    handoverTimeout: '1500ms',
  },
  commits.options,
)
const OWN = '/.well-known/fencegate/'
const announce = (query = '', request: RawRequest = {}): RawRequest => ({
  method: 'POST',
  target: `${OWN}announce${query}`,
  ...request,
})
const announced = (task: string, token: number | string, query = '', request: RawRequest = {}) =>
  claim(task, token, { ...announce(query), body: undefined, ...request })
/** With the token alone: the path names the task. */
const byPath = (token: number, query: string) =>
  announce(query, { headers: [['Fencing-Token', String(token)]] })

test('204 with the mark, which then fences the old holder; the resource hears nothing', async () => {
  expect((await send(claim('K', 8))).status).toBe(200)
  upstream.forget()
  const answer = await send(announced('K', 9))
  expect([answer.status, answer.body.bytes, answer.values('fencing-mark')]).toEqual([204, 0, ['9']])
  expect(refusal(await send(claim('K', 8)), 412, 'stale-token')).toMatchObject({ highest: '9' })
  expect(upstream.requests).toEqual([])
  expect((await send(announced('K', 9))).status).toBe(204)
  expect((await send(claim('K', 9))).status).toBe(200)
  expect((await send(announced('K', 10))).values('fencing-mark')).toEqual(['10'])
})

test('not before the mark is durable', async () => {
  commits.hold()
  refusal(await send(announced('durable', 9)), 503, 'store-unavailable')
  commits.release()
  expect((await send(announced('durable', 9))).status).toBe(204)
})

test('it waits for a lower write that is open, which is drained', async () => {
  const held = upstream.hold()
  const low = send(claim('drain', 8))
  await held.arrived
  refusal(await send(announced('drain', 9)), 503, 'handover-pending')
  refusal(await send(claim('drain', 8)), 412, 'stale-token')
  const answer = send(announced('drain', 9))
  await until(async () => (await metric('fencegate_handovers_pending')) === 1, 'a pending handover')
  held.release()
  expect((await low).status).toBe(200)
  expect((await answer).status).toBe(204)
})

test('it cuts a lower write whose route aborts', async () => {
  const held = upstream.hold()
  const low = send(claim('abort', 8, { target: '/abort/1' }))
  await held.arrived
  expect((await send(announced('abort', 9))).status).toBe(204)
  refusal(await low, 502, 'superseded')
  expect((await unknown(sidecar)).map(({ task, reason }) => [task, reason])).toEqual([
    ['abort', 'superseded'],
  ])
})

test('the refusals are those of a write', async () => {
  refusal(await send(announced('K', 7)), 412, 'stale-token')
  refusal(await send(announced('K', 0)), 400, 'malformed-token')
  refusal(await send(announced('K', '9,9')), 400, 'malformed-token')
  refusal(await send(announced('K', 1001)), 400, 'malformed-token')
  refusal(await send(announced('K', 600)), 403, 'token-jump')
  refusal(await send(announced('a b', 9)), 400, 'malformed-task')
  refusal(await send(announced('K', 9, '', { headers: [['Fencing-Task', 'K']] })), 400, 'malformed-task')
  refusal(await send(announce()), 428, 'token-required')
  refusal(await send(announce('', { headers: [['Fencing-Task', 'K']] })), 428, 'token-required')
  refusal(await send(byPath(9, '')), 428, 'token-required')
})

test('path= claims the task that such a target would', async () => {
  expect((await send(byPath(9, '?path=/settlements/42/x'))).values('fencing-mark')).toEqual(['9'])
  refusal(await send(byPath(8, '?path=%2Fsettlements%2F42%2Fother%3Fa%3Db')), 412, 'stale-token')
  const write = { method: 'POST', target: '/settlements/42/x' }
  const withToken = (token: string) => ({ ...write, headers: [['Fencing-Token', token] as const] })
  refusal(await send(withToken('8')), 412, 'stale-token')
  expect((await send(withToken('9'))).status).toBe(200)
  refusal(await send(claim('42', 8)), 412, 'stale-token')
  const contradicts = announced('43', 10, '?path=/settlements/42/x')
  refusal(await send(contradicts), 400, 'malformed-task')
})

test('method= says for which method the route is', async () => {
  refusal(await send(byPath(9, '?path=/reports/7')), 428, 'token-required')
  expect((await send(byPath(9, '?path=/reports/7&method=PUT'))).status).toBe(204)
  expect((await send(byPath(9, '?path=/reports/7?a&method=PUT'))).status).toBe(204)
  refusal(await send(claim('7', 8)), 412, 'stale-token')
})

test.each([
  '?path=/settlements/42/../43/x',
  '?path=/settlements/%2534%2532/x',
  '?path=//settlements/42/x',
  '?path=settlements/42/x',
  '?path=',
  '?path=/settlements/42/x&path=/settlements/43/x',
  '?path=/reports/7&method=PUT&method=POST',
])('%s can be read in two ways: 400', async (query) => {
  refusal(await send(byPath(11, query)), 400, 'ambiguous-target')
  for (const task of ['42', '43', '7']) {
    expect((await send(claim(task, 10))).status).toBe(200)
  }
})

test.each<[string, RawRequest]>([
  ['GET', announce('', { method: 'GET' })],
  ['PUT', announced('own', 9, '', { method: 'PUT' })],
  ['another name', claim('own', 9, { method: 'POST', target: `${OWN}announced` })],
  ['below it', claim('own', 9, { method: 'POST', target: `${OWN}announce/` })],
  ['no name', claim('own', 9, { method: 'POST', target: OWN })],
  ['dot segments', claim('own', 9, { target: `${OWN}../../x` })],
])('nothing else below it is the resource’s: %s', async (_, request) => {
  refusal(await send(request), 404, 'not-found')
  expect(upstream.requests).toEqual([])
  expect((await send(claim('own', 1))).status).toBe(200)
})

test.each([
  '/.well-known/fencegate',
  '/.well-known/fencegate?a',
  '/.well-known/%66encegate/announce',
  '/.well-known//fencegate/announce',
  '//.well-known/fencegate/announce',
  '/./.well-known/fencegate/announce',
  '/.WELL-KNOWN/fencegate/announce',
  '/x/.well-known/fencegate/announce',
])('everything else is, byte for byte, and a write like any other: %s', async (target) => {
  const write = { method: 'POST', target }
  refusal(await send(write), 428, 'token-required')
  const answer = await send(claim('resource', 9, write))
  expect([answer.status, answer.values('fencing-mark')]).toEqual([200, []])
  expect(upstream.requests.map((request) => request.target)).toEqual([target])
})

test('the connection stays in step: whatever body comes with it', async () => {
  const client = await connect()
  const withBody = (request: RawRequest) => announced('step', 9, '', { body: 'ignored', ...request })
  for (const request of [withBody({}), announced('step', 9), withBody({})]) {
    expect((await client.exchange(request)).status).toBe(204)
  }
  expect((await client.exchange(withBody({ chunked: true }))).values('connection')).toEqual(['close'])
  await client.ended()
  const careful = await connect()
  const head = encode(withBody({ headers: [['Expect', '100-continue']] }))
  await careful.send(head.subarray(0, head.length - 'ignored'.length))
  const answer = await careful.answer('POST')
  expect([answer.status, answer.interim, answer.values('connection')]).toEqual([204, [], ['close']])
  await careful.ended()
  const unknownExpectation = announced('step', 9, '', { headers: [['Expect', 'cake']] })
  refusal(await send(unknownExpectation), 417, 'unsupported-expectation')
})

test('what is announced outlives a crash', async () => {
  expect((await send(announced('crash', 9))).status).toBe(204)
  await sidecar.kill()
  const next = await sidecar.restart({ restartGrace: '10m' })
  refusal(await exchange(next.port, claim('crash', 8)), 412, 'stale-token')
  expect((await exchange(next.port, claim('crash', 9))).status).toBe(200)
  await next.kill()
})
