/** `handover: abort`: older open writes are cut, each is on durable record, and only then is the new token sent. */
import { beforeEach, expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { unknown } from '../support/operator.ts'
import { encode, exchange, type RawRequest } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const commits = new Commits()
const { upstream, sidecar, send, connect, metric } = await scene(
  {
    routes: [{ name: 'abort', match: { path: '/abort/*' }, handover: 'abort' }],
    handoverTimeout: '1500ms',
    drainLimit: '3s',
  },
  commits.options,
)
beforeEach(() => commits.release())
const abort = (task: string, token: number, request: RawRequest = {}) =>
  claim(task, token, { target: '/abort/1', ...request })
const records = async (task: string) =>
  (await unknown(sidecar))
    .filter((record) => record.task === task)
    .map(({ token, reason }) => [token, reason])
/** Where in the upstream's record a connection ended, and where the head of a token came. */
const ends = () => upstream.events.flatMap(({ what }, at) => (what === 'ended' ? [at] : []))
const headOf = (token: string) =>
  upstream.events.findIndex(
    ({ what, request }) => what === 'head' && request?.values('fencing-token')[0] === token,
  )

test('every older open write is cut and on record before the new token is sent', async () => {
  const held = [upstream.hold(), upstream.hold(), upstream.hold()]
  const low = held.map(() => send(abort('many', 8)))
  for (const { arrived } of held) await arrived
  expect((await send(abort('many', 9))).status).toBe(200)
  expect(ends()).toHaveLength(3)
  expect(Math.max(...ends())).toBeLessThan(headOf('9'))
  for (const answer of low) {
    const problem = refusal(await answer, 502, 'superseded')
    expect(problem).toMatchObject({ task: 'many', token: '8', highest: '9', sent: 'unknown', retry: 'never' })
    expect((await answer).values('retry-after')).toEqual([])
  }
  expect(await records('many')).toEqual(Array(3).fill(['8', 'superseded']))
  expect(await metric('fencegate_unresolved_outcomes')).toBe(3)
  expect(await metric('fencegate_outcomes_total', { route: 'abort', outcome: 'unknown' })).toBe(3)
})

test('where the head of the answer was passed on, the old client is cut off', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc')
    await exchange.gone()
  })
  const client = await connect()
  await client.send(encode(abort('headed', 8)))
  expect((await client.head()).status).toBe(200)
  expect((await send(abort('headed', 9))).status).toBe(200)
  await client.ended()
  expect(ends()[0]).toBeLessThan(headOf('9'))
  expect(await records('headed')).toEqual([['8', 'superseded']])
})

test('a body under way is cut, and its bytes are on record', async () => {
  const client = await connect()
  await client.send(encode(abort('midway', 8, { body: 'abc', headers: [['Content-Length', '1000']] })))
  await upstream.changes.when(() => upstream.requests[0]?.body.bytes === 3, 'the first bytes')
  expect((await send(abort('midway', 9))).status).toBe(200)
  refusal(await client.answer(), 502, 'superseded')
  expect(ends()[0]).toBeLessThan(headOf('9'))
  const record = (await unknown(sidecar)).find(({ task }) => task === 'midway')
  expect(record).toMatchObject({ reason: 'superseded', bytesSent: 3 })
  client.close()
})

test('a write of which nothing was sent is stale, and leaves no record', async () => {
  const client = await connect()
  await client.send(encode(abort('unsent', 8, { body: '', headers: [['Content-Length', '8']] })))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the permit of 8')
  expect((await send(abort('unsent', 9))).status).toBe(200)
  refusal(await client.answer(), 412, 'stale-token')
  expect(await records('unsent')).toEqual([])
  client.close()
})

test('the older write’s route decides, not the new one’s', async () => {
  const aborted = upstream.hold()
  const onAbort = send(abort('whose', 8))
  await aborted.arrived
  expect((await send(claim('whose', 9))).status).toBe(200)
  refusal(await onAbort, 502, 'superseded')

  const drained = upstream.hold()
  const onDrain = send(claim('whose', 9))
  await drained.arrived
  refusal(await send(abort('whose', 10)), 503, 'handover-pending')
  drained.release()
  expect((await onDrain).status).toBe(200)
  expect((await send(abort('whose', 10))).status).toBe(200)
  expect(await records('whose')).toEqual([['8', 'superseded']])
})

test('a write that drainLimit cuts is on record too', async () => {
  const held = upstream.hold()
  const low = send(claim('limit', 8))
  await held.arrived
  refusal(await send(claim('limit', 9)), 503, 'handover-pending')
  expect(await records('limit')).toEqual([])
  refusal(await low, 502, 'superseded')
  expect((await send(claim('limit', 9))).status).toBe(200)
  expect(ends()[0]).toBeLessThan(headOf('9'))
  expect(await records('limit')).toEqual([['8', 'superseded']])
})

test('killed at the first byte of the new token: the record is there, and so is the mark', async () => {
  const held = upstream.hold()
  const low = send(abort('killed', 8))
  low.catch(() => {})
  await held.arrived
  commits.slow(150)
  upstream.onFirstByte = () => sidecar.process.signal('SIGKILL')
  await expect(send(abort('killed', 9))).rejects.toThrow()
  await sidecar.process.exitCode()
  upstream.forget()
  commits.release()
  const next = await sidecar.restart()
  const [record, ...others] = (await unknown(next)).filter(({ task }) => task === 'killed')
  expect(record).toMatchObject({ token: '8', reason: 'superseded' })
  expect(others).toEqual([])
  refusal(await exchange(next.port, abort('killed', 8)), 412, 'stale-token')
  await next.kill()
})
