/** Clients that do not take their answers: they hold no write open, no connection to the resource and no memory for long. */
import { afterEach, expect, test } from 'vitest'
import { descriptors, LINUX, residentBytes } from '../support/linux.ts'
import { encode, RawClient } from '../support/raw-client.ts'
import type { Script } from '../support/recording-upstream.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'
import { sha256 } from '../support/wire.ts'

const CONNECTIONS = 2
const IDLE_MS = 600
/** How long a client takes that takes its answer steadily. */
const TAKEN_IN_MS = 1500
const { upstream, sidecar, send, metric } = await scene({
  limits: { idleTimeout: `${IDLE_MS}ms` },
  upstream: { connections: CONNECTIONS },
})
const { pid } = sidecar.process
/** Connections to the admin port, which may stay or go at any time. */
const SCRAPES = 2
const idle = LINUX ? descriptors(pid) : 0
const MEBI = 2 ** 20
/** More than the system's buffers take for a client that reads nothing. */
const BIG = Buffer.alloc(16 * MEBI, 'an answer that nobody wants ')
const clients: RawClient[] = []

/** A client that takes nothing until it is told to. */
async function reluctant(): Promise<RawClient> {
  const client = await RawClient.connect(sidecar.port)
  client.reader.pause()
  clients.push(client)
  return client
}

const answerBig: Script = async (exchange) => {
  await exchange.wholeBody()
  await exchange.answer({ body: BIG })
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'the end of every write')
})

test('a write whose answer is not taken: the client is cut, the answer is read to its end, the outcome is known', async () => {
  const outcomes = async () => [
    await metric('fencegate_outcomes_total', { outcome: 'answered' }),
    await metric('fencegate_outcomes_total', { outcome: 'unknown' }),
  ]
  const [answered = 0, unknown = 0] = await outcomes()
  upstream.script = answerBig
  const client = await reluctant()
  const began = performance.now()
  await client.send(encode(claim('K', 1)))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the write')
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'its end')
  expect(performance.now() - began).toBeGreaterThan(350)
  expect(await outcomes()).toEqual([answered + 1, unknown])
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'answered', 'the whole answer')
  client.reader.resume()
  await expect(client.answer()).rejects.toThrow('inside a body')
  upstream.forget()
  expect((await send(claim('K', 2))).status).toBe(200)
})

test('reads whose answers are not taken lose their connections to the resource, and others are served', async () => {
  upstream.script = answerBig
  for (let i = 0; i < 4; i++) await (await reluctant()).send(encode({ method: 'GET' }))
  await upstream.heads(2)
  upstream.script = (exchange) => exchange.answer()
  const honest = [send({ method: 'GET' }), send(claim('K', 2))]
  for (const { status } of await Promise.all(honest)) expect(status).toBe(200)
  const cut = () => upstream.events.filter(({ what }) => what === 'ended').length
  await upstream.changes.when(() => cut() === 2, 'the end of both connections')
})

test('a client that takes its answer steadily, for longer than limits.idleTimeout, gets all of it', async () => {
  upstream.script = answerBig
  const client = await reluctant()
  await client.send(encode({ method: 'GET' }))
  const began = performance.now()
  // By what time has passed, not by how often a timer fires: a busy machine makes it no slower.
  const due = () => ((performance.now() - began) / TAKEN_IN_MS) * BIG.length
  let taken = 0
  client.socket.on('data', (chunk: Buffer) => {
    taken += chunk.length
    if (taken > due()) client.reader.pause()
  })
  const timer = setInterval(() => {
    if (taken <= due()) client.reader.resume()
  }, 5)
  const answer = await client.answer('GET', 30_000).finally(() => clearInterval(timer))
  expect(answer.body.sha256).toBe(sha256(BIG))
  expect(performance.now() - began).toBeGreaterThan(IDLE_MS)
})

test.runIf(LINUX)(
  'requests that wait behind others cost little memory, and a few may always wait',
  async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    upstream.script = (exchange) => released.then(() => exchange.answer())
    const memory = residentBytes(pid)
    const ahead = encode({ method: 'GET', headers: [['X-A', 'a'.repeat(15_000)]] })
    const behindOne = async (requests: Buffer) => {
      const client = await reluctant()
      await client.send(encode(claim('held', 1)))
      void client.send(requests)
      return client
    }
    const many = Buffer.concat(Array.from({ length: 120 }, () => ahead))
    const flood: RawClient[] = []
    for (let i = 0; i < 60; i++) flood.push(await behindOne(many))
    await until(() => flood.filter(({ reader }) => reader.ended).length >= 20, 'the end of most')
    expect(residentBytes(pid) - memory).toBeLessThan(150 * MEBI)
    const few = await behindOne(Buffer.concat(Array.from({ length: 6 }, () => ahead)))
    release()
    few.reader.resume()
    for (const method of ['PUT', 'GET', 'GET', 'GET', 'GET', 'GET', 'GET']) {
      expect((await few.answer(method)).status).toBe(200)
    }
  },
)

test.runIf(LINUX)('clients that pipeline and never read are cut off, and cost little memory', async () => {
  // Small enough that all of it is handed over before anybody sees that the client doesn't take it.
  upstream.script = (exchange) => exchange.answer({ body: Buffer.alloc(30_000) })
  await until(() => descriptors(pid) <= idle + CONNECTIONS + SCRAPES, 'the end of the sockets of before')
  const [sockets, memory] = [descriptors(pid), residentBytes(pid)]
  const request = encode({ method: 'GET' })
  for (let i = 0; i < 4; i++) {
    await (await reluctant()).send(Buffer.concat(Array.from({ length: 240 }, () => request)))
  }
  await until(() => descriptors(pid) >= sockets + clients.length - SCRAPES, 'their sockets')
  let peak = 0
  const gone = () => {
    peak = Math.max(peak, residentBytes(pid) - memory)
    return descriptors(pid) <= sockets
  }
  await until(gone, 'the end of the sockets', 30_000)
  expect(peak).toBeLessThan(100 * MEBI)
  expect(upstream.requests.length).toBeLessThan(4 * 240)
  upstream.forget()
  expect((await send(claim('K', 2))).status).toBe(200)
})
