/** A write that is overtaken while its client has not begun the body: refused, and its connection stays of use. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene()

test('the rest of its body is read away, and the next request is answered', async () => {
  const client = await connect()
  await client.send(encode(claim('k', 8, { body: '', headers: [['Content-Length', '5']] })))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the permit')
  expect((await send(claim('k', 9))).status).toBe(200)
  refusal(await client.answer(), 412, 'stale-token')
  await client.send('hello')
  await client.send(encode(claim('k', 9)))
  expect((await client.answer()).status).toBe(200)
  expect(upstream.requests).toHaveLength(2)
  expect(await metric('fencegate_open_writes')).toBe(0)
})
