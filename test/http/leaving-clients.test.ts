/** Clients that leave: a read ends with them, a write that was sent is read to its end, and one that wasn't never is. */
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { encode, type RawClient } from '../support/raw-client.ts'
import type { Script } from '../support/recording-upstream.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene()
const PART = Buffer.alloc(64 << 10, 'x')
const outcomes = (outcome: string) => metric('fencegate_outcomes_total', { outcome })
const quiet = () => until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')

/** Ways to leave; a half-closed connection is taken for one that has been left. */
const LEAVE: [string, (client: RawClient) => void][] = [
  ['closes', (client) => client.close()],
  ['resets', (client) => client.reset()],
  ['half-closes', (client) => client.socket.end()],
]

/**
 * Answers without end, until the peer has gone. Not faster than the buffers on the way take it: a client that half-closes
 * behind full ones is noticed only when it is given up for its silence.
 */
const endless: Script = async (exchange) => {
  await exchange.wholeBody()
  await exchange.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
  let gone = false
  void exchange.gone().then(() => {
    gone = true
  })
  while (!gone) {
    await exchange.write(
      Buffer.concat([Buffer.from(`${PART.length.toString(16)}\r\n`), PART, Buffer.from('\r\n')]),
    )
    await setTimeout(20)
  }
}

test.each(LEAVE)('a client %s while it reads: the resource is let go of', async (_, leave) => {
  upstream.once(endless)
  const client = await connect()
  await client.send(encode({ method: 'GET' }))
  await until(() => client.reader.received > PART.length, 'the answer on its way')
  leave(client)
  const { connection } = upstream.last
  await upstream.changes.when(() => upstream.connections[connection]?.ended !== undefined, 'the end of it')
  client.close()
})

test.each(LEAVE)('a client %s once its write was sent: the outcome is learnt', async (how, leave) => {
  const [answered, held] = [await outcomes('answered'), upstream.hold()]
  const client = await connect()
  await client.send(encode(claim(`sent-${how}`, 1)))
  await held.arrived
  leave(client)
  expect(await client.ended()).toBeDefined()
  expect(await metric('fencegate_open_writes')).toBe(1)
  held.release({ body: PART })
  await quiet()
  expect(await outcomes('answered')).toBe(answered + 1)
  expect(upstream.connections[upstream.last.connection]?.ended).toBeUndefined()
  client.close()
})

test.each(LEAVE)('a client %s while its write waits: nothing of it is sent', async (how, leave) => {
  const held = upstream.hold()
  const first = send(claim(`waits-${how}`, 1))
  await held.arrived
  const raises = await metric('fencegate_raises_total')
  const client = await connect()
  await client.send(encode(claim(`waits-${how}`, 2)))
  await until(async () => (await metric('fencegate_raises_total')) === raises + 1, 'the raise')
  leave(client)
  await client.ended()
  held.release()
  expect((await first).status).toBe(200)
  await quiet()
  expect((await send(claim(`waits-${how}`, 2, { target: '/next' }))).status).toBe(200)
  expect(upstream.requests.map(({ target }) => target)).toEqual(['/x', '/next'])
  client.close()
})

test.each(LEAVE)(
  'a client %s within its body: the write is cut off, and its outcome unknown',
  async (how, leave) => {
    const unknown = await outcomes('unknown')
    const client = await connect()
    await client.send(encode(claim(`cut-${how}`, 1, { headers: [['Content-Length', '9']], body: 'half' })))
    await upstream.changes.when(() => upstream.requests[0]?.body.text === 'half', 'the first half')
    leave(client)
    await upstream.changes.when(() => upstream.events.at(-1)?.what === 'ended', 'the cut')
    await quiet()
    expect(await outcomes('unknown')).toBe(unknown + 1)
    expect(upstream.whole).toEqual([])
    client.close()
  },
)
