/** CASES 14: a write that waits for a connection is open, but nothing of it was sent, so it can be taken back. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene({ upstream: { connections: 1 } })
const open = (count: number) =>
  until(async () => (await metric('fencegate_open_writes')) === count, `${count} open writes`)

test('8 waits in a full pool; 9 arrives; 8 is stale and never sent', async () => {
  const held = upstream.hold()
  const other = send(claim('other', 1))
  await held.arrived
  const low = send(claim('K', 8))
  await open(2)
  const high = send(claim('K', 9))
  refusal(await low, 412, 'stale-token')
  held.release()
  expect((await other).status).toBe(200)
  expect((await high).status).toBe(200)
  expect(upstream.requests.map((request) => request.values('fencing-token')[0])).toEqual(['1', '9'])
})

test('a client that leaves while its write waits for a connection: nothing of it is sent', async () => {
  const held = upstream.hold()
  const other = send(claim('other', 1))
  await held.arrived
  const notSent = await metric('fencegate_outcomes_total', { outcome: 'not-sent' })
  const client = await connect()
  await client.send(encode(claim('leaving', 8)))
  await open(2)
  client.reset()
  await open(1)
  held.release()
  await other
  expect((await send(claim('leaving', 8))).status).toBe(200)
  expect(upstream.requests).toHaveLength(2)
  expect(await metric('fencegate_outcomes_total', { outcome: 'not-sent' })).toBe(notSent + 1)
})
