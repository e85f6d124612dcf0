/** Backpressure both ways: what one side doesn't take, the other can't pour into the sidecar's memory. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'
import { sha256 } from '../support/wire.ts'

const { upstream, connect } = await scene()
const BODY = Buffer.alloc(64 << 20, 'more than sockets and streams can hold ')

test('a resource that stops reading holds the client back, and then gets every byte', async () => {
  const { promise: paused, resolve } = Promise.withResolvers<() => void>()
  upstream.once(async (exchange) => {
    exchange.pause()
    resolve(() => exchange.resume())
    await exchange.wholeBody()
    await exchange.answer()
  })
  const client = await connect()
  void client.send(encode(claim('up', 1, { body: BODY })))
  const resume = await paused
  await standstill(() => client.socket.bytesWritten - client.socket.writableLength)
  expect(client.socket.writableLength).toBeGreaterThan(BODY.length / 2)
  resume()
  expect((await client.answer('PUT', 30_000)).status).toBe(200)
  expect(upstream.last.body.sha256).toBe(sha256(BODY))
  client.close()
})

test('a client that stops reading holds the resource back, and then gets every byte', async () => {
  let written: Promise<void> | undefined
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(`HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n`)
    written = exchange.write(BODY)
    await written
  })
  const client = await connect()
  client.reader.pause()
  void client.send(encode(claim('down', 1)))
  await until(() => written !== undefined, 'the answer on its way')
  const { socket } = upstream.connections[upstream.last.connection] as (typeof upstream.connections)[0]
  await standstill(() => socket.bytesWritten - socket.writableLength)
  expect(socket.writableLength).toBeGreaterThan(BODY.length / 2)
  client.reader.resume()
  const answer = await client.answer('PUT', 30_000)
  expect(answer.body.sha256).toBe(sha256(BODY))
  client.close()
})

/** Resolves when the number has stayed the same for a while: both ends wait for each other. */
async function standstill(number: () => number): Promise<void> {
  let [last, since] = [number(), performance.now()]
  await until(() => {
    const now = number()
    if (now !== last) [last, since] = [now, performance.now()]
    return performance.now() - since > 300
  }, 'a standstill')
}
