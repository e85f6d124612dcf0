/** Answers that can't have a body, whatever they say of one: passed on, and nobody takes a body for an answer. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'

const { upstream, connect, metric } = await scene()

test.each([
  ['204 with a length', 'PUT', 204, 'Content-Length: 5\r\n\r\n'],
  ['204 with a length and a body', 'PUT', 204, 'Content-Length: 5\r\n\r\nhello'],
  ['204 with a length of 0', 'PUT', 204, 'Content-Length: 0\r\n\r\n'],
  ['204 with a body that is an answer', 'PUT', 204, '\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'],
  ['204 with chunks', 'PUT', 204, 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
  ['304 with a length', 'GET', 304, 'Content-Length: 5\r\nETag: "a"\r\n\r\n'],
  ['304 with a body', 'GET', 304, 'Content-Length: 5\r\n\r\nhello'],
  ['304 with chunks', 'GET', 304, 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['answer to HEAD with a body', 'HEAD', 200, 'Content-Length: 5\r\n\r\nhello'],
  ['answer to HEAD with chunks', 'HEAD', 200, 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
  ['answer to HEAD with neither', 'HEAD', 200, '\r\n'],
  ['404 to HEAD with a length', 'HEAD', 404, 'Content-Length: 5\r\n\r\n'],
])('a %s', async (_, method, status, rest) => {
  const client = await connect()
  for (const request of [claim('K', 1, { method }), claim('K', 1, { method })]) {
    upstream.once(async (exchange) => {
      await exchange.wholeBody()
      exchange.reusable = true
      await exchange.write(`HTTP/1.1 ${status} Bodiless\r\n${rest}`)
    })
    const answer = await client.exchange(request)
    expect([answer.status, answer.reason]).toEqual([status, 'Bodiless'])
    expect(answer.values('transfer-encoding')).toEqual([])
  }
  const { received } = client.reader
  expect((await client.exchange(claim('K', 1))).body.text).toBe('')
  expect(client.reader.received).toBeGreaterThan(received)
  client.close()
  expect(upstream.requests).toHaveLength(3)
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(0)
})

test('a 205 has the body that it should not have', async () => {
  const client = await connect()
  for (const body of ['', 'hello']) {
    upstream.answerOnce({ status: 205, body })
    const answer = await client.exchange(claim('K', 1))
    expect([answer.status, answer.body.text]).toEqual([205, body])
  }
  client.close()
})

test('the answer to HEAD says of the representation what the resource says of it', async () => {
  const client = await connect()
  const headers = [
    ['Content-Length', '9876543210'],
    ['Content-Encoding', 'gzip'],
    ['Accept-Ranges', 'bytes'],
  ] as const
  upstream.answerOnce({ headers, framing: 'none' })
  const answer = await client.exchange({ method: 'HEAD' })
  expect(answer.headers.slice(0, 3)).toEqual(headers)
  client.close()
})
