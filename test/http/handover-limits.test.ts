/** CASES 14: a successor is told to wait, and after drainLimit the write in its way is cut. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, send, connect, metric } = await scene({ handoverTimeout: '300ms', drainLimit: '1500ms' })
const ends = () => upstream.events.findIndex(({ what }) => what === 'ended')
const headOf = (token: string) =>
  upstream.events.findIndex(
    ({ what, request }) => what === 'head' && request?.values('fencing-token')[0] === token,
  )

test('handover-pending after handoverTimeout; the mark stays raised; drainLimit cuts the old write', async () => {
  const held = upstream.hold()
  const low = send(claim('cut', 8))
  await held.arrived
  const pending = await send(claim('cut', 9))
  const problem = refusal(pending, 503, 'handover-pending')
  expect(problem).toMatchObject({ task: 'cut', token: '9', sent: 'no', retry: 'after' })
  expect(Number(pending.values('retry-after')[0])).toBeGreaterThanOrEqual(1)
  refusal(await send(claim('cut', 8)), 412, 'stale-token')
  expect(upstream.requests).toHaveLength(1)

  expect(refusal(await low, 502, 'superseded')).toMatchObject({ token: '8', highest: '9', sent: 'unknown' })
  expect((await send(claim('cut', 9))).status).toBe(200)
  expect(ends()).toBeGreaterThan(0)
  expect(ends()).toBeLessThan(headOf('9'))
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(1)
})

test('where the head of the answer was passed on, the old client is cut off', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc')
    await exchange.gone()
  })
  const low = send(claim('headed', 8))
  low.catch(() => {})
  await upstream.received(1)
  refusal(await send(claim('headed', 9)), 503, 'handover-pending')
  await expect(low).rejects.toThrow('ended inside a body')
  expect((await send(claim('headed', 9))).status).toBe(200)
  expect(ends()).toBeLessThan(headOf('9'))
})

test('a body that trickles for ever is cut: 8 never completes after 9 was sent', async () => {
  const client = await connect()
  await client.send(encode(claim('trickle', 8, { body: 'abc', headers: [['Content-Length', '1000']] })))
  await upstream.changes.when(() => upstream.requests[0]?.body.bytes === 3, 'the first bytes')
  const trickle = setInterval(() => client.send('x'), 50)
  try {
    refusal(await send(claim('trickle', 9)), 503, 'handover-pending')
    refusal(await client.answer(), 502, 'superseded')
    expect((await send(claim('trickle', 9))).status).toBe(200)
  } finally {
    clearInterval(trickle)
    client.close()
  }
  expect(upstream.requests[0]?.body.complete).toBe(false)
  expect(ends()).toBeLessThan(headOf('9'))
})

test('a handover that was told to wait is not forgotten: the next attempt finds it complete', async () => {
  const held = upstream.hold()
  const low = send(claim('later', 8))
  await held.arrived
  refusal(await send(claim('later', 9)), 503, 'handover-pending')
  held.release()
  expect((await low).status).toBe(200)
  expect((await send(claim('later', 9))).status).toBe(200)
  refusal(await send(claim('later', 8)), 412, 'stale-token')
})
