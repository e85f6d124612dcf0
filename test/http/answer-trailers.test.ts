/** CASES 7: trailers of an answer are delivered, announced or not, after a body or alone. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, connect, metric } = await scene()

const ANNOUNCED: HeaderPair[] = [
  ['Trailer', 'X-Amz-Checksum-Crc32'],
  ['trailer', 'Digest, X-Latin'],
]
const TRAILERS: HeaderPair[] = [
  ['X-Amz-Checksum-Crc32', 'DUoRhQ=='],
  ['Digest', 'sha-256=x'],
  ['digest', 'md5=y'],
  ['X-Latin', 'caf\xe9'],
  ['X-Empty', ''],
]

test.each([
  ['announced, after a body', ANNOUNCED, 'summed'],
  ['unannounced, after a body', [], 'summed'],
  ['announced, alone', ANNOUNCED, ''],
  ['unannounced, alone', [], ''],
])('%s', async (_, headers, body) => {
  const client = await connect()
  for (const method of ['PUT', 'GET', 'POST']) {
    const trailers = TRAILERS.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    upstream.once(async (exchange) => {
      await exchange.wholeBody()
      exchange.reusable = true
      const fields = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
      await exchange.write(`HTTP/1.1 200 OK\r\n${fields}Transfer-Encoding: chunked\r\n\r\n`)
      const chunk = body === '' ? '' : `${body.length};ext=1\r\n${body}\r\n`
      await exchange.write(`${chunk}0\r\n${trailers}\r\n`)
    })
    const answer = await client.exchange(claim('K', 1, { method }))
    expect([answer.status, answer.body.text]).toEqual([200, body])
    expect(answer.headers.slice(0, headers.length)).toEqual(headers)
    expect(answer.body.trailers).toEqual(TRAILERS)
  }
  client.close()
})

test('trailers that the body was cut before are not made up', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsummed\r\n0\r\nX-Sum: ')
    exchange.close()
  })
  const unknown = await metric('fencegate_outcomes_total', { outcome: 'unknown' })
  const client = await connect()
  await expect(client.exchange(claim('K', 1))).rejects.toThrow('ended inside')
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(unknown + 1)
})

test('trailers that would delimit a message end the answer', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n',
    )
  })
  const client = await connect()
  await expect(client.exchange(claim('K', 1))).rejects.toThrow('ended inside')
})

test('to an answer without a body there are none, whatever it announces', async () => {
  const client = await connect()
  upstream.answerOnce({ headers: ANNOUNCED, body: 'mine' })
  const answer = await client.exchange(claim('K', 1))
  expect([answer.body.text, answer.body.trailers]).toEqual(['mine', []])
  client.close()
})
