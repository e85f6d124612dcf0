/** The instruments measure rightly: the raw client and the recording upstream, one against the other. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { encode, exchange, RawClient } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { chunk } from '../support/upstream-exchange.ts'
import { sha256 } from '../support/wire.ts'

const upstream = await RecordingUpstream.start()
beforeEach(() => upstream.forget())
afterAll(() => upstream.close())

test('a request is recorded as it was sent', async () => {
  const client = await RawClient.connect(upstream.port)
  const headers = [
    ['Host', 'a'],
    ['X-Twice', '1'],
    ['x-twice', '\xe9'],
  ] as const
  const answer = await client.exchange({ method: 'PATCH', target: '//a/%2F?b', headers, body: 'hello' })
  expect(answer.status).toBe(200)
  const { method, target, body } = upstream.last
  expect([method, target, body.text]).toEqual(['PATCH', '//a/%2F?b', 'hello'])
  expect(upstream.last.headers).toEqual([...headers, ['Content-Length', '5']])
  expect(upstream.last.values('X-TWICE')).toEqual(['1', '\xe9'])

  await client.exchange({ body: 'abc', chunked: true, trailers: [['X-Sum', '9']] })
  expect(upstream.last.body).toMatchObject({ bytes: 3, chunks: [3], trailers: [['X-Sum', '9']] })
  expect(upstream.last.body.sha256).toBe(sha256('abc'))
  expect(upstream.last.connection).toBe(upstream.requests[0]?.connection)
  client.close()
})

test('an answer is read as it was written', async () => {
  const client = await RawClient.connect(upstream.port)
  upstream.once(async (held) => {
    await held.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
    await held.answer({ status: 299, reason: 'Odd', framing: 'chunked', body: 'ab', trailers: [['T', '1']] })
  })
  const answer = await client.exchange({ method: 'GET' })
  expect(answer).toMatchObject({ status: 299, reason: 'Odd', body: { text: 'ab', trailers: [['T', '1']] } })
  expect(answer.interim).toEqual([expect.objectContaining({ status: 103, headers: [['Link', '</a>']] })])

  upstream.answerOnce({ status: 204, framing: 'none' })
  expect((await client.exchange({ method: 'DELETE' })).status).toBe(204)
  upstream.answerOnce({ body: 'to the end', framing: 'until-close' })
  expect((await client.exchange({})).body.text).toBe('to the end')
  expect(await client.ended()).toBe('fin')
})

test('requests in slices, held answers, cut bodies and resets are seen as such', async () => {
  const held = upstream.hold()
  const client = await RawClient.connect(upstream.port)
  for (const byte of encode({ body: 'slow' })) await client.send(Buffer.from([byte]))
  await held.arrived
  expect(upstream.events.map(({ what }) => what)).toEqual(['head', 'body-end'])
  held.release({ body: 'at last' })
  expect((await client.answer()).body.text).toBe('at last')

  await client.send(encode({ headers: [['Content-Length', '9']] }))
  await upstream.heads(2)
  client.reset()
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'ended', 'the end at the upstream')
  expect(upstream.last.body.complete).toBe(false)

  upstream.once((request) => request.reset())
  await expect(exchange(upstream.port, {})).rejects.toThrow('ended')
})

test('an upstream that stops reading pushes back, and one that goes on gets every byte', async () => {
  const client = await RawClient.connect(upstream.port)
  const body = Buffer.alloc(32 << 20, 'x')
  const { promise: paused, resolve } = Promise.withResolvers<() => void>()
  upstream.once(async (request) => {
    request.pause()
    resolve(() => request.resume())
    await request.wholeBody()
    await request.answer()
  })
  const sent = client.send(encode({ body }))
  const resume = await paused
  expect(upstream.last.body.complete).toBe(false)
  expect(client.socket.writableLength).toBeGreaterThan(0)
  resume()
  await sent
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.sha256).toBe(sha256(body))
  client.close()
})

test('what is not HTTP/1.1 is a fault', async () => {
  const client = await RawClient.connect(upstream.port)
  await client.send('PUT /x HTTP/1.1\nHost: a\r\n\r\n')
  await client.ended()
  const other = await RawClient.connect(upstream.port)
  await other.send('PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n')
  await other.send(Buffer.concat([chunk('abc'), Buffer.from('oops\r\n')]))
  await other.ended()
  expect(upstream.faults).toEqual([expect.stringContaining('bare LF'), expect.stringContaining('chunk size')])
})
