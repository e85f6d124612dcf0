/** Limits of a request's head: how large, how many fields, how long it may take; each has its answer and goes nowhere. */
import { expect, test } from 'vitest'
import { encode, type RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const HEAD_BYTES = 8192
const FIELDS = 20
const { upstream, send, connect } = await scene({
  limits: { headSize: '8KiB', headerCount: FIELDS, headTimeout: '500ms', idleTimeout: '5s' },
})
const fields = (count: number): HeaderPair[] => Array.from({ length: count }, (_, i) => [`X-${i}`, `${i}`])
/** Besides what a claim has: Host, task, token, length. */
const OWN_FIELDS = 4

/** Expects a refusal, the connection's last answer, and nothing at the resource. */
async function lastAnswer(client: RawClient, status: number, code: string) {
  const before = upstream.bytesReceived
  const answer = await client.answer()
  expect(answer.values('connection')).toEqual(['close'])
  expect(await client.ended()).toBe('fin')
  expect(upstream.bytesReceived).toBe(before)
  return refusal(answer, status, code)
}

test('as many fields as limits.headerCount arrive, in order; one more: 431', async () => {
  expect((await send(claim('K', 1, { headers: fields(FIELDS - OWN_FIELDS) }))).status).toBe(200)
  const sent = upstream.last.headers.filter(([name]) => name.startsWith('X-'))
  expect(sent).toEqual(fields(FIELDS - OWN_FIELDS))
  const client = await connect()
  await client.send(encode(claim('K', 1, { headers: fields(FIELDS - OWN_FIELDS + 1) })))
  const { detail } = await lastAnswer(client, 431, 'head-too-large')
  expect(detail).toContain('limits.headerCount')
  expect(detail).toContain(`${FIELDS + 1} header fields`)
})

test.each([
  ['short', 30_000],
  ['long', 3_000_000],
])(
  'the 431 reaches a client that sends its %s body first, and what it sends next is no request',
  async (_, length) => {
    const client = await connect()
    client.reader.pause()
    const sent = encode(claim('K', 1, { headers: fields(FIELDS), body: Buffer.alloc(length) }))
    await client.send(sent.subarray(0, 5000))
    expect((await send(claim('K', 1))).status).toBe(200)
    void client.send(sent.subarray(5000))
    void client.send(encode(claim('K', 2)))
    const seen = upstream.requests.length
    client.reader.resume()
    await lastAnswer(client, 431, 'head-too-large')
    expect(upstream.requests).toHaveLength(seen)
  },
)

test('a head of limits.headSize passes, a larger one: 431', async () => {
  const sized = (value: number) => encode(claim('K', 1, { headers: [['X-A', 'a'.repeat(value)]] }))
  const client = await connect()
  await client.send(sized(HEAD_BYTES - sized(0).length - 100))
  expect((await client.answer()).status).toBe(200)
  await client.send(sized(HEAD_BYTES))
  expect((await lastAnswer(client, 431, 'head-too-large')).detail).toContain('limits.headSize')
})

test('a request target longer than limits.headSize: 431', async () => {
  const client = await connect()
  await client.send(encode(claim('K', 1, { target: `/${'a'.repeat(HEAD_BYTES)}` })))
  await lastAnswer(client, 431, 'head-too-large')
})

/** Sends on, a byte every 30 ms, until the connection has ended. */
function trickle(client: RawClient, bytes: string): void {
  let sent = 0
  const timer = setInterval(
    () => client.socket.writable && client.socket.write(bytes[sent++ % bytes.length] as string),
    30,
  )
  for (const event of ['end', 'error', 'close']) client.socket.once(event, () => clearInterval(timer))
}

test('a head that trickles: 408 after limits.headTimeout, on a new connection and on one that was served', async () => {
  const fresh = await connect()
  const kept = await connect()
  expect((await kept.exchange(claim('K', 1))).status).toBe(200)
  const began = performance.now()
  for (const client of [fresh, kept])
    trickle(client, 'PUT /x HTTP/1.1\r\nX-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')
  for (const client of [fresh, kept]) {
    expect(await lastAnswer(client, 408, 'head-timeout')).toMatchObject({
      sent: 'no',
      retry: 'after',
      detail: expect.stringContaining('limits.headTimeout'),
    })
  }
  expect(performance.now() - began).toBeGreaterThan(450)
})

test('a connection that says nothing at all: 408, and it ends', async () => {
  const client = await connect()
  await lastAnswer(client, 408, 'head-timeout')
})
