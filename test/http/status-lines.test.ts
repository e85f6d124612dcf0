/** Every status of an answer arrives, and its reason byte for byte. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'

const { upstream, connect } = await scene()
const client = await connect()

/** The answer to a request, whose status line is these bytes. */
async function answerTo(method: string, statusLine: string) {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reusable = true
    await exchange.write(`${statusLine}\r\nContent-Length: 4\r\n\r\nmine`)
  })
  return client.exchange(claim('K', 1, { method, body: method === 'PUT' ? '{}' : undefined }))
}

const STATUSES = [
  200, 201, 202, 203, 205, 206, 207, 208, 226, 299, 300, 301, 303, 307, 308, 400, 401, 402, 403, 407, 408,
  409, 410, 411, 412, 413, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499, 500,
  501, 502, 503, 504, 505, 507, 508, 510, 511, 520, 599, 600, 777, 999,
]

test.each(['PUT', 'GET'])('the answer to a %s with each status, on one connection', async (method) => {
  for (const status of STATUSES) {
    const answer = await answerTo(method, `HTTP/1.1 ${status} Reason ${status}`)
    expect([answer.status, answer.reason, answer.body.text]).toEqual([status, `Reason ${status}`, 'mine'])
    expect(answer.values('proxy-status')).toEqual([])
  }
  expect(upstream.requests).toHaveLength(STATUSES.length)
})

test.each([
  ['of UTF-8', 'Tr\xc3\xa8s bien'],
  ['of spaces and tabs', ' a\tb  '],
  ['that is long', 'r'.repeat(2000)],
  ["that isn't the usual one", 'Not Found'],
  ['of nothing', ''],
])('a reason %s', async (_, reason) => {
  for (const method of ['PUT', 'GET']) {
    const answer = await answerTo(method, `HTTP/1.1 200 ${reason}`)
    expect([answer.status, answer.reason]).toEqual([200, reason])
  }
})

test('a status line without a reason, and the space before it', async () => {
  expect(await answerTo('PUT', 'HTTP/1.1 200')).toMatchObject({ status: 200, reason: '' })
})

test('a reason that is no UTF-8 is left out, never changed', async () => {
  const { status, reason } = await answerTo('PUT', 'HTTP/1.1 200 Tr\xe8s bien')
  expect([status, reason]).toEqual([200, ''])
})

test('an answer of HTTP/1.0', async () => {
  const answer = await answerTo('PUT', 'HTTP/1.0 200 Old')
  expect([answer.status, answer.reason, answer.body.text]).toEqual([200, 'Old', 'mine'])
})
