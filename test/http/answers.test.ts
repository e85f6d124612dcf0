/** The resource's answer reaches the client as it was given, whatever its shape. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import type { Answer } from '../support/upstream-exchange.ts'
import { fieldValues, type HeaderPair } from '../support/wire.ts'

const { upstream, send, connect } = await scene()
const put = (method = 'PUT') => claim('answers', 1, { method })
const FIELDS: HeaderPair[] = [
  ['Set-Cookie', 'a=1'],
  ['X-Order', '1'],
  ['set-cookie', 'b=2'],
  ['ETag', '"caf\xe9"'],
  ['Date', 'Tue, 01 Jan 2030 00:00:00 GMT'],
  ['Content-Type', 'application/x; charset=none'],
]

test('status, reason, fields and their order', async () => {
  upstream.answerOnce({ status: 299, reason: 'Strange But True', headers: FIELDS, body: 'x' })
  const answer = await send(put())
  expect([answer.status, answer.reason, answer.body.text]).toEqual([299, 'Strange But True', 'x'])
  expect(answer.headers.slice(0, FIELDS.length)).toEqual(FIELDS)
  expect(answer.values('server')).toEqual([])
})

test('of a read: status and fields with their duplicates', async () => {
  upstream.answerOnce({ status: 299, reason: 'Strange But True', headers: FIELDS, body: 'x' })
  const answer = await send(put('GET'))
  expect([answer.status, answer.body.text]).toEqual([299, 'x'])
  for (const [name] of FIELDS) expect(answer.values(name)).toEqual(fieldValues(FIELDS, name))
  expect(answer.values('server')).toEqual([])
})

test.each<[string, Answer, string]>([
  ['of a length', { body: 'whole' }, 'whole'],
  ['of length 0', { body: '' }, ''],
  ['chunked', { body: 'whole', framing: 'chunked' }, 'whole'],
  ['chunked and empty', { framing: 'chunked' }, ''],
  ['to the end of the connection', { body: 'whole', framing: 'until-close' }, 'whole'],
  ['an error', { status: 500, reason: 'Oh', body: 'whole' }, 'whole'],
  ["the resource's own 412", { status: 412, reason: 'Precondition Failed', body: 'mine' }, 'mine'],
  ['a redirect', { status: 307, reason: 'Moved', headers: [['Location', 'http://a/']], body: '' }, ''],
  ['a code in a body that is not', { headers: [['Content-Encoding', 'gzip']], body: 'no gzip' }, 'no gzip'],
])('an answer %s', async (_, scripted, body) => {
  for (const method of ['PUT', 'GET']) {
    upstream.answerOnce(scripted)
    const answer = await send(put(method))
    expect([answer.status, answer.body.text]).toEqual([scripted.status ?? 200, body])
    expect(answer.values('proxy-status')).toEqual([])
    for (const [name, value] of scripted.headers ?? []) expect(answer.values(name)).toEqual([value])
  }
})

test.each([204, 304])('a %i has no body, and the connection goes on', async (status) => {
  for (const method of ['PUT', 'GET']) {
    upstream.answerOnce({ status, reason: 'None', headers: [['ETag', '"a"']], framing: 'none' })
    const client = await connect()
    const answer = await client.exchange(put(method))
    expect([answer.status, answer.body.bytes, answer.values('etag')]).toEqual([status, 0, ['"a"']])
    expect(answer.values('transfer-encoding')).toEqual([])
    expect((await client.exchange(put(method))).status).toBe(200)
    client.close()
  }
})

test('the answer to a HEAD keeps its length and has no body', async () => {
  upstream.answerOnce({ headers: [['Content-Length', '12345']], framing: 'none' })
  const client = await connect()
  const answer = await client.exchange({ method: 'HEAD' })
  expect([answer.status, answer.values('content-length'), answer.body.bytes]).toEqual([200, ['12345'], 0])
  expect((await client.exchange({ method: 'HEAD' })).status).toBe(200)
  client.close()
})

test('trailers of an answer are delivered', async () => {
  upstream.answerOnce({
    headers: [['Trailer', 'X-Checksum']],
    body: 'summed',
    framing: 'chunked',
    trailers: [['X-Checksum', 'abc123']],
  })
  const answer = await send(put())
  expect(answer.body.text).toBe('summed')
  expect(answer.body.trailers).toEqual([['X-Checksum', 'abc123']])
})

test('early hints to a write are passed on or left out; the answer is the same', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n')
    await exchange.answer({ body: 'after hints' })
  })
  const answer = await send(put())
  expect([answer.status, answer.body.text]).toEqual([200, 'after hints'])
  for (const hint of answer.interim) {
    expect(hint.status).toBe(103)
    expect(fieldValues(hint.headers, 'link')).toEqual(['</a.css>; rel=preload'])
  }
})

test.each(['PUT', 'GET'])('%s: an answer passes on as it comes', async (method) => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc')
    await goOn
    await exchange.write('def')
  })
  const client = await connect()
  const answer = client.exchange(put(method))
  const reader = client.reader
  while (!reader.received) await new Promise((next) => client.socket.once('data', next))
  resolve()
  expect((await answer).body.text).toBe('abcdef')
  client.close()
})

test('an early answer reaches the client before its body is complete', async () => {
  upstream.once((exchange) => exchange.answer({ status: 413, reason: 'Too Large', body: 'enough' }))
  const client = await connect()
  await client.send('PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Task: answers\r\nFencing-Token: 1\r\n')
  await client.send('Content-Length: 1000000\r\n\r\nthe beginning')
  const answer = await client.answer()
  expect([answer.status, answer.body.text]).toEqual([413, 'enough'])
  client.close()
})
