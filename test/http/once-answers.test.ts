/** Answers to attempts: passed on as they are, whatever they are, and given again from the record. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { unknown } from '../support/operator.ts'
import { encode, exchange, type RawAnswer, type RawRequest } from '../support/raw-client.ts'
import { refusal, scene } from '../support/scene.ts'
import type { Answer } from '../support/upstream-exchange.ts'
import { until } from '../support/wait.ts'
import { fieldValues, type HeaderPair, sha256 } from '../support/wire.ts'

const KEPT = 1024
const once = { keepBody: '1KiB', finalStatuses: [304, 402, 413] }
const { upstream, send, sidecar, metric, connect } = await scene({
  routes: [
    { name: 'heads', guard: 'once', match: { methods: ['HEAD'], path: '/heads/{task}/*' }, once },
    { name: 'charges', guard: 'once', match: { path: '/v1/{task}/*' }, once },
    {
      name: 'accepting',
      guard: 'once',
      match: { path: '/accepting/{task}/*' },
      unknownStatuses: [202, 502],
      once,
    },
  ],
})

let keys = 0
const freshKey = () => `key-${++keys}`

const attempt = (key: string, target = '/v1/k/charge', more: RawRequest = {}): RawRequest => ({
  ...{ method: 'POST', target, body: '{}', ...more },
  headers: [
    ['Fencing-Token', '1'],
    ['Idempotency-Key', key],
  ],
})

const replayed = ({ values }: RawAnswer) => values('idempotent-replayed').join()

const FIELDS: HeaderPair[] = [
  ['X-Order', '1'],
  ['Content-Type', 'application/x'],
  ['Set-Cookie', 'a=1'],
  ['Set-Cookie', 'b=2'],
  ['ETag', '"caf\xe9"'],
]

const SHORT: [string, Answer][] = [
  ['of a length', { status: 201, body: 'whole' }],
  ['of length 0', { status: 201, body: '' }],
  ['as long as is kept', { body: 'x'.repeat(KEPT) }],
  ['chunked', { body: 'whole', framing: 'chunked' }],
  ['with trailers', { body: 'whole', framing: 'chunked', trailers: [['X-Sum', '5']] }],
  ['to the end of the connection', { body: 'whole', framing: 'until-close' }],
  ['that is coded', { headers: [['Content-Encoding', 'gzip']], body: gzipSync('whole') }],
  ['that is binary', { body: Buffer.from(Array.from({ length: 256 }, (_, i) => i)) }],
  ['without a body', { status: 204, framing: 'none' }],
  ['that was not modified', { status: 304, framing: 'none', headers: [['Content-Length', '700']] }],
  ['with a status of its own', { status: 299, reason: 'Strange But True', body: 'whole' }],
  ['that is a final refusal', { status: 402, reason: 'Payment Required', body: 'no money' }],
]

test.each(SHORT)('an answer %s is passed on whole, and replayed', async (_what, scripted) => {
  const key = freshKey()
  upstream.answerOnce({ ...scripted, headers: [...FIELDS, ...(scripted.headers ?? [])] })
  const first = await send(attempt(key))
  const body = Buffer.from(scripted.body ?? '')
  const { status = 200, trailers = [] } = scripted
  expect([first.status, first.body.data, first.body.trailers]).toEqual([status, body, trailers])
  expect(first.headers.slice(0, FIELDS.length)).toEqual(FIELDS)
  expect(replayed(first)).toBe('')
  const client = await connect()
  const again = await client.exchange(attempt(key))
  expect([again.status, again.body.data, replayed(again)]).toEqual([status, body, 'true'])
  for (const name of ['content-type', 'etag', 'content-encoding']) {
    expect(again.values(name)).toEqual(fieldValues(first.headers, name))
  }
  expect([again.values('set-cookie'), again.values('x-order')]).toEqual([[], []])
  expect(again.values('content-length')).toEqual(status === 204 || status === 304 ? [] : [`${body.length}`])
  expect(replayed(await client.exchange(attempt(key))), 'the connection goes on').toBe('true')
  client.close()
  expect(upstream.requests).toHaveLength(1)
})

test('an answer to HEAD tells the length of what it leaves out; a replay tells none', async () => {
  const head = attempt(freshKey(), '/heads/k/charge', { method: 'HEAD', body: undefined })
  upstream.answerOnce({ framing: 'none', headers: [...FIELDS, ['Content-Length', '700']] })
  const first = await send(head)
  expect([first.status, first.body.bytes, first.values('content-length')]).toEqual([200, 0, ['700']])
  const again = await send(head)
  expect([again.status, again.values('content-length'), replayed(again)]).toEqual([200, [], 'true'])
  expect(upstream.requests).toHaveLength(1)
})

const LONG = Buffer.alloc(300_000, 'fencegate ')

test.each<[string, Answer]>([
  ['of a length', { status: 201 }],
  ['chunked', { status: 201, framing: 'chunked', trailers: [['X-Sum', '5']] }],
  ['to the end of the connection', { status: 201, framing: 'until-close' }],
])('a longer one %s than is kept is passed on whole; a repeat is told that it is done', async (_, answer) => {
  const key = freshKey()
  upstream.answerOnce({ ...answer, headers: FIELDS, body: LONG })
  const first = await send(attempt(key))
  expect([first.status, first.body.sha256]).toEqual([201, sha256(LONG)])
  expect([first.headers.slice(0, FIELDS.length), first.body.trailers]).toEqual([
    FIELDS,
    answer.trailers ?? [],
  ])
  const again = refusal(await send(attempt(key)), 409, 'operation-done')
  expect(again).toMatchObject({ operation: { state: 'done', status: 201 }, retry: 'never' })
  expect(upstream.requests).toHaveLength(1)
})

test.each([502, 202])('a long %i that does not tell the outcome leaves it unknown', async (status) => {
  const key = freshKey()
  const target = '/accepting/k/charge'
  upstream.answerOnce({ status, headers: FIELDS, body: LONG })
  const first = await send(attempt(key, target))
  expect([first.status, first.body.sha256]).toEqual([status, sha256(LONG)])
  refusal(await send(attempt(key, target)), 409, 'operation-unknown')
  expect(upstream.requests).toHaveLength(1)
  expect(await unknown(sidecar)).toContainEqual(
    expect.objectContaining({ operation: key, reason: 'status', bytesSent: 2 }),
  )
})

test('a long answer that is not final lets the operation be attempted again', async () => {
  const key = freshKey()
  upstream.answerOnce({ status: 500, body: LONG })
  expect((await send(attempt(key))).body.sha256).toBe(sha256(LONG))
  expect((await send(attempt(key))).status).toBe(200)
})

test('an answer that is cut within what is kept: nothing of it is passed on, and the outcome is unknown', async () => {
  const key = freshKey()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 201 Created\r\nContent-Length: 700\r\n\r\nbegun')
    exchange.reset()
  })
  refusal(await send(attempt(key)), 502, 'outcome-unknown')
  refusal(await send(attempt(key)), 409, 'operation-unknown')
  expect(upstream.requests).toHaveLength(1)
})

test('an answer that is cut beyond what is kept: its client is cut off, the operation is done', async () => {
  const key = freshKey()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(`HTTP/1.1 201 Created\r\nContent-Length: ${LONG.length}\r\n\r\n`)
    await exchange.write(LONG.subarray(0, 2 * KEPT))
    await passedOn
    exchange.reset()
  })
  const { promise: passedOn, resolve: pass } = Promise.withResolvers<void>()
  const client = await connect()
  await client.send(encode(attempt(key)))
  expect((await client.head()).status).toBe(201)
  pass()
  await client.ended()
  expect(client.reader.received).toBeLessThan(LONG.length)
  refusal(await send(attempt(key)), 409, 'operation-done')
  expect(upstream.requests).toHaveLength(1)
})

test('interim answers are passed on as they come, before anything is on record', async () => {
  const key = freshKey()
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
    await heard
    await exchange.answer({ status: 201, body: 'whole' })
  })
  const client = await connect()
  await client.send(encode(attempt(key)))
  expect(await client.head()).toMatchObject({ status: 103, headers: [['Link', '</a>']] })
  hear()
  expect((await client.answer('POST')).body.text).toBe('whole')
  const again = await send(attempt(key))
  expect([again.body.text, again.interim, replayed(again)]).toEqual(['whole', [], 'true'])
  client.close()
})

test('a resource that answers before it has the body: the answer counts, and the body is not sent twice', async () => {
  const key = freshKey()
  const body = 'x'.repeat(900_000)
  upstream.once(async (exchange) => {
    exchange.pause()
    await exchange.write('HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlong')
    exchange.close()
    exchange.resume()
  })
  const first = await send(attempt(key, undefined, { body }))
  expect([first.status, first.body.text]).toEqual([413, 'long'])
  expect(replayed(await send(attempt(key, undefined, { body })))).toBe('true')
  expect(upstream.requests).toHaveLength(1)
})

test('a client that reads slowly gets a long answer whole, and one that leaves stops nothing', async () => {
  const [slow, left] = [freshKey(), freshKey()]
  const body = Buffer.alloc(8_000_000, 'fencegate ')
  upstream.answerOnce({ status: 201, body })
  const client = await connect()
  client.reader.pause()
  await client.send(encode(attempt(slow)))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the attempt')
  client.reader.resume()
  expect((await client.answer('POST')).body.sha256).toBe(sha256(body))
  client.close()
  const held = upstream.hold()
  const leaving = await connect()
  await leaving.send(encode(attempt(left)))
  await held.arrived
  leaving.close()
  held.release({ status: 201, body })
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'the end of the attempt')
  refusal(await send(attempt(left)), 409, 'operation-done')
})

test('one byte more than is kept is too long, and on record before a byte of it is passed on', async () => {
  const key = freshKey()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(`HTTP/1.1 201 Created\r\nContent-Length: ${KEPT + 2}\r\n\r\n${'x'.repeat(KEPT + 1)}`)
    await exchange.gone()
  })
  const client = await connect()
  await client.send(encode(attempt(key)))
  expect((await client.head()).status).toBe(201)
  await sidecar.kill()
  await client.ended()
  const after = await sidecar.restart()
  const again = refusal(await exchange(after.port, attempt(key)), 409, 'operation-done')
  expect(again.operation).toEqual({ state: 'done', status: 201 })
})
