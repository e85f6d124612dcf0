/** A client that pipelines without end loses its connection; nobody else notices. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene()

test('300 requests behind one that is not answered', async () => {
  const held = upstream.hold()
  const client = await connect()
  await client.send(encode(claim('K', 1)))
  await held.arrived
  await client.send(Buffer.concat(Array.from({ length: 300 }, () => encode(claim('K', 1, { body: '' })))))
  await client.ended()
  expect((await send(claim('other', 1))).status).toBe(200)
  held.release()
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
  expect((await send(claim('K', 1))).status).toBe(200)
})
