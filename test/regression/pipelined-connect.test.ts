/** CONNECT is refused, and never in the place of an answer that another request is owed. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, connect, send, metric } = await scene()
const CONNECT = Buffer.from('CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: a\r\n\r\n')

test('after a write that is not answered yet: its own answer, then the end', async () => {
  const held = upstream.hold()
  const client = await connect()
  await client.send(Buffer.concat([encode(claim('K', 1)), CONNECT]))
  await held.arrived
  held.release({ body: 'mine' })
  const answer = await client.answer()
  expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
  const { received } = client.reader
  await client.ended()
  expect(client.reader.received).toBe(received)
})

test('alone: 501', async () => {
  const client = await connect()
  await client.send(CONNECT)
  refusal(await client.answer('CONNECT'), 501, 'unsupported-method')
  await client.ended()
  expect(upstream.requests).toEqual([])
})

test('behind a large answer that the client takes slowly: it comes whole', async () => {
  const body = Buffer.alloc(8 << 20, 'x')
  upstream.answerOnce({ body })
  const client = await connect()
  client.reader.pause()
  await client.send(Buffer.concat([encode({ method: 'GET' }), CONNECT]))
  await upstream.heads(1)
  client.reader.resume()
  expect((await client.answer('GET')).body.bytes).toBe(body.length)
})

test.each([0, 1, 2])(
  '%d writes before it, and a client that resets: nothing stays, nothing breaks',
  async (count) => {
    const held = upstream.hold()
    const client = await connect()
    const writes = Array.from({ length: count }, () => encode(claim('resets', 1)))
    await client.send(Buffer.concat([...writes, CONNECT]))
    if (count > 0) await held.arrived
    else await client.reader.ready()
    client.reset()
    held.release()
    await until(async () => (await metric('fencegate_open_writes')) === 0, 'the end of the write')
    upstream.forget()
    expect((await send(claim('resets', 1))).status).toBe(200)
  },
)

test('a stop waits for none of them', async () => {
  const started = performance.now()
  expect(await sidecar.stop()).toBe(0)
  // Below the deadline that it would wait for one that is owed an answer.
  expect(performance.now() - started).toBeLessThan(4000)
})
