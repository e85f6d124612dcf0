/** Keys and bodies of attempts that can't be used: the client is told why, nothing is sent, and nothing stays behind. */
import { describe, expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { encode, exchange, type RawClient, type RawRequest } from '../support/raw-client.ts'
import { refusal, scene } from '../support/scene.ts'
import { chunk } from '../support/upstream-exchange.ts'
import { until } from '../support/wait.ts'
import type { HeaderPair } from '../support/wire.ts'

const MAX_BODY = 1024
const commits = new Commits()
const routes = [
  { name: 'charges', guard: 'once', match: { path: '/v1/{task}/*' }, once: { maxBody: '1KiB' } },
]
const { upstream, send, sidecar, metric, connect } = await scene(
  { limits: { idleTimeout: '1s' }, routes },
  commits.options,
)
/** Waits for bodies far longer than for handovers. */
const patient = await scene({ handoverTimeout: '2s', routes })

let keys = 0
const freshKey = () => `key-${++keys}`

const attempt = (key: string, more: RawRequest = {}, token = 1): RawRequest => ({
  method: 'POST',
  target: '/v1/k/charge',
  body: '{}',
  ...more,
  headers: [['Fencing-Token', String(token)], ['Idempotency-Key', key], ...(more.headers ?? [])],
})

const openWrites = () => metric('fencegate_open_writes')
const nothingIsOpen = () => until(async () => (await openWrites()) === 0, 'no open write')

/** The operation is as if nobody had ever attempted it. */
async function stillFree(key: string, more: RawRequest = {}): Promise<void> {
  await nothingIsOpen()
  const sent = upstream.requests.length
  const answer = await send(attempt(key, more))
  expect([answer.status, answer.values('idempotent-replayed'), upstream.requests.length]).toEqual([
    200,
    [],
    sent + 1,
  ])
}

/** The beginning of an attempt whose body the test sends itself. */
async function begun(key: string, headers: readonly HeaderPair[], token = 1): Promise<RawClient> {
  const client = await connect()
  const { body: _, ...head } = attempt(key, { headers }, token)
  await client.send(encode(head))
  return client
}

describe('keys', () => {
  test.each<[string, HeaderPair[]]>([
    ['of 256 characters', [['Idempotency-Key', 'x'.repeat(256)]]],
    ['of 256 characters, quoted', [['Idempotency-Key', `"${'x'.repeat(256)}"`]]],
    ['that are empty', [['Idempotency-Key', '']]],
    ['that are an empty string', [['Idempotency-Key', '""']]],
    [
      'given twice',
      [
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', 'a'],
      ],
    ],
    ['joined by a comma', [['Idempotency-Key', 'a, b']]],
    ['with a quote that nothing ends', [['Idempotency-Key', '"a']]],
    ['with a quote inside', [['Idempotency-Key', 'a"b']]],
    ['with a wrong escape', [['Idempotency-Key', '"a\\b"']]],
    ['with a parameter', [['Idempotency-Key', '"a";v=1']]],
    ['beyond ASCII', [['Idempotency-Key', 'caf\xe9']]],
    [
      'with a look-alike beside them',
      [
        ['Idempotency-Key', 'a'],
        ['Idempotency_Key', 'b'],
      ],
    ],
  ])('%s: refused, and the connection stays usable', async (_what, headers) => {
    const client = await connect()
    const request: RawRequest = { method: 'POST', target: '/v1/k/charge', body: '{}' }
    const first = await client.exchange({ ...request, headers: [['Fencing-Token', '1'], ...headers] })
    refusal(first, 400, 'malformed-operation')
    expect(upstream.requests).toEqual([])
    expect((await client.exchange(attempt(freshKey()))).status).toBe(200)
    client.close()
  })

  test('that a hop would drop: refused', async () => {
    const answer = await send(attempt('a', { headers: [['Connection', 'Idempotency-Key']] }))
    refusal(answer, 400, 'malformed-request')
    expect(upstream.requests).toEqual([])
  })

  test('of 255 characters pass; bare and quoted they are one, and the provider sees the first spelling alone', async () => {
    const key = freshKey().padEnd(255, 'x')
    upstream.answerOnce({ status: 503 })
    expect((await send(attempt(`"${key}"`))).status).toBe(503)
    expect((await send(attempt(key))).status).toBe(200)
    expect((await send(attempt(`"${key}"`, {}, 1))).values('idempotent-replayed')).toEqual(['true'])
    const seen = upstream.requests.map(({ values }) => values('idempotency-key'))
    expect(seen).toEqual([[`"${key}"`], [`"${key}"`]])
  })
})

describe('bodies that are too long', () => {
  test('by their Content-Length: refused before a byte of it is sent, or asked for', async () => {
    for (const expecting of [[], [['Expect', '100-continue']]] as const) {
      const key = freshKey()
      const client = await begun(key, [['Content-Length', String(MAX_BODY + 1)], ...expecting])
      const answer = await client.answer('POST')
      expect(refusal(answer, 413, 'body-too-large').detail).toContain('once.maxBody')
      expect(answer.interim).toEqual([])
      await stillFree(key)
      client.close()
    }
  })

  test('in chunks: refused once that is known', async () => {
    const key = freshKey()
    const client = await begun(key, [['Transfer-Encoding', 'chunked']])
    await client.send(chunk('x'.repeat(MAX_BODY)))
    await client.send(chunk('x'))
    expect(refusal(await client.answer('POST'), 413, 'body-too-large').detail).toContain('once.maxBody')
    await stillFree(key)
    client.close()
  })

  test('one as long as may be passes, however it is framed', async () => {
    const body = 'x'.repeat(MAX_BODY)
    expect((await send(attempt(freshKey(), { body }))).status).toBe(200)
    expect((await send(attempt(freshKey(), { body, chunked: true }))).status).toBe(200)
    expect(upstream.requests.map((request) => request.body.text)).toEqual([body, body])
    expect(upstream.requests.map(({ values }) => values('content-length'))).toEqual([['1024'], ['1024']])
  })
})

describe('bodies that do not come', () => {
  test.each([
    ['at all', ''],
    ['to their end', '{'],
  ])('%s: refused in time, and the operation is free', async (_what, part) => {
    const key = freshKey()
    const client = await begun(key, [['Content-Length', '2']])
    await client.send(part)
    await until(async () => (await openWrites()) === 1, 'the attempt')
    refusal(await client.answer('POST'), 408, 'body-timeout')
    await stillFree(key)
    client.close()
  })

  test('because the client leaves in its middle', async () => {
    const key = freshKey()
    const client = await begun(key, [['Content-Length', '2']])
    await client.send('{')
    await until(async () => (await openWrites()) === 1, 'the attempt')
    client.close()
    await stillFree(key)
  })

  test('because the client leaves while it waits for a handover', async () => {
    const key = freshKey()
    const held = patient.upstream.hold()
    const lower = patient.send(attempt(freshKey()))
    await held.arrived
    const client = await patient.connect()
    await client.send(encode(attempt(key, { headers: [['Content-Length', '3']] }, 2)))
    await until(async () => (await patient.metric('fencegate_handovers_pending')) === 1, 'the handover')
    client.close()
    held.release()
    await lower
    // The one that left does not stand in the way as long as bodies may take.
    expect((await patient.send(attempt(key, {}, 2))).status).toBe(200)
  })

  test('to a holder that was superseded: it is told so at once, and leaves nothing on record', async () => {
    const key = freshKey()
    const target = '/v1/superseded/charge'
    const stale = await connect()
    await stale.send(encode(attempt(key, { target, headers: [['Content-Length', '3']] }, 1)))
    await until(async () => (await openWrites()) === 1, 'the attempt')
    expect((await send(attempt(key, { target }, 2))).status).toBe(200)
    refusal(await stale.answer('POST'), 412, 'stale-token')
    expect((await send(attempt(key, { target }, 2))).values('idempotent-replayed')).toEqual(['true'])
    stale.close()
  })
})

test('request trailers are not dropped in silence: nothing is sent', async () => {
  const key = freshKey()
  const answer = await send(attempt(key, { chunked: true, trailers: [['X-Sum', '1']] }))
  refusal(answer, 501, 'unsupported-trailer')
  expect(upstream.requests).toEqual([])
  await stillFree(key)
})

test('a client that leaves while the intent is put on record: nothing is sent, the operation may be repeated', async () => {
  const key = freshKey()
  await send(attempt(freshKey())) // The mark is on record: the next commit is the intent's.
  commits.hold()
  const client = await connect()
  await client.send(encode(attempt(key)))
  await until(async () => (await openWrites()) === 1, 'the attempt')
  const before = upstream.requests.length
  client.close()
  commits.release()
  await nothingIsOpen()
  expect(upstream.requests.length).toBe(before)
  expect((await exchange(sidecar.port, attempt(key))).status).toBe(200)
})

test('a client that leaves once its attempt is sent: the next one gets the answer', async () => {
  const key = freshKey()
  const held = upstream.hold()
  const client = await connect()
  await client.send(encode(attempt(key)))
  await held.arrived
  client.close()
  held.release({ status: 201, body: 'done' })
  await nothingIsOpen()
  const again = await send(attempt(key))
  expect([again.status, again.body.text, again.values('idempotent-replayed')]).toEqual([
    201,
    'done',
    ['true'],
  ])
})
