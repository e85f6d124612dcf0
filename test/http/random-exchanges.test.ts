/** Many exchanges at once, in random pieces, framings and sizes: no byte is changed, and no answer changes hands. */
import { expect, test } from 'vitest'
import { encode, type RawClient } from '../support/raw-client.ts'
import type { Script } from '../support/recording-upstream.ts'
import { claim, scene } from '../support/scene.ts'
import { seededRandom } from '../support/store-random.ts'
import { chunk } from '../support/upstream-exchange.ts'
import { until } from '../support/wait.ts'
import { type HeaderPair, sha256 } from '../support/wire.ts'

const SEED = Number(process.env.FENCEGATE_SEED ?? Math.floor(Math.random() * 2 ** 32))
const [CLIENTS, ROUNDS] = [10, 20]
const { upstream, connect, metric } = await scene({ upstream: { connections: 4 } })

type Random = () => number
const pick = <T>(random: Random, ...items: T[]): T => items[Math.floor(random() * items.length)] as T
const upTo = (random: Random, most: number) => Math.floor(random() * (most + 1))
/** What both ends choose for an exchange, each by itself. */
const choices = (id: string, side: string) =>
  seededRandom(SEED ^ Number.parseInt(sha256(`${id} ${side}`).slice(0, 8), 16))

function bytes(random: Random): Buffer {
  const body = Buffer.alloc(upTo(random, pick(random, 0, 1, 100, 70_000, 200_000)))
  for (let i = 0; i < body.length; i += 1 + upTo(random, 50)) body[i] = upTo(random, 255)
  return body
}

/** The body in chunks of random sizes. */
function inChunks(random: Random, body: Buffer, trailers: string): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const size = 1 + upTo(random, pick(random, 10, 5000, 100_000))
    chunks.push(chunk(body.subarray(at, at + size)))
    at += size
  }
  return Buffer.concat([...chunks, Buffer.from(`0\r\n${trailers}\r\n`)])
}

/** Writes in slices of random sizes, some of them a turn of the event loop apart. */
async function inSlices(random: Random, all: Buffer, write: (slice: Buffer) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; ) {
    const size = 1 + upTo(random, pick(random, 3, 1000, 300_000))
    const written = write(all.subarray(at, at + size))
    at += size
    if (random() < 0.3) await written
    if (random() < 0.2) await new Promise((resolve) => setImmediate(resolve))
  }
}

function answerOf(id: string) {
  const random = choices(id, 'answer')
  const body = bytes(random)
  const framing = pick(random, 'length', 'chunked', 'close')
  const trailers = framing === 'chunked' && random() < 0.5 ? `X-Sum: ${sha256(body)}\r\n` : ''
  const delimiter = {
    length: `Content-Length: ${body.length}`,
    chunked: 'Transfer-Encoding: chunked',
    close: 'X-A: a',
  }
  const head = `HTTP/1.1 ${pick(random, 200, 201, 404, 500)} Any\r\nX-Id: ${id}\r\n${delimiter[framing]}\r\n\r\n`
  const rest = framing === 'chunked' ? inChunks(random, body, trailers) : body
  return { random, body, framing, trailers, all: Buffer.concat([Buffer.from(head), rest]) }
}

const answering: Script = async (exchange) => {
  const id = exchange.request.values('x-id')[0] as string
  const { random, framing, all } = answerOf(id)
  await exchange.wholeBody()
  exchange.reusable = framing !== 'close'
  await inSlices(random, all, (slice) => exchange.write(slice))
  if (framing === 'close') exchange.close()
}

async function exchangeOnce(client: RawClient, id: string): Promise<void> {
  const random = choices(id, 'request')
  const body = bytes(random)
  const method = pick(random, 'PUT', 'POST', 'DELETE', 'PATCH', 'GET', 'LOCK')
  const chunked = random() < 0.5
  const framing: HeaderPair = chunked
    ? ['Transfer-Encoding', 'chunked']
    : ['Content-Length', String(body.length)]
  const headers: HeaderPair[] = [['X-Id', id], framing]
  const head = encode(
    claim(`task-${id.split('-')[0]}`, 1, { method, target: `/${id}`, headers, body: undefined }),
  )
  const rest = chunked ? inChunks(random, body, '') : body
  const answered = client.answer(method, 30_000)
  await inSlices(random, Buffer.concat([head, rest]), (slice) => client.send(slice))
  const answer = await answered
  const expected = answerOf(id)
  expect([id, ...answer.values('x-id')]).toEqual([id, id])
  expect([id, answer.body.sha256]).toEqual([id, sha256(expected.body)])
  expect(answer.body.trailers).toHaveLength(expected.trailers === '' ? 0 : 1)
  const received = upstream.requests.filter(({ target }) => target === `/${id}`)
  expect(received.map((request) => [request.method, request.body.sha256])).toEqual([[method, sha256(body)]])
}

test(`${CLIENTS} connections with ${ROUNDS} exchanges each (FENCEGATE_SEED=${SEED})`, async () => {
  upstream.script = answering
  const one = async (name: number) => {
    const client = await connect()
    for (let round = 0; round < ROUNDS; round++) await exchangeOnce(client, `${name}-${round}`)
    client.close()
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, name) => one(name)))
  expect(upstream.requests).toHaveLength(CLIENTS * ROUNDS)
  expect(upstream.faults).toEqual([])
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(0)
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
})
