/** Interim answers of the resource reach the client in order, before the answer itself. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send, connect } = await scene()
/** Node 24 can't send them; they may be left out (RFC 9110, section 15.2). */
const passes = Number(process.versions.node.split('.')[0]) >= 26

const HINTS: HeaderPair[] = [
  ['Link', '</a.css>; rel=preload; as=style'],
  ['link', '</b.js>; rel=preload'],
  ['X-Latin', 'caf\xe9'],
  ['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
]

test.runIf(passes).each(['PUT', 'GET', 'HEAD'])('to a %s', async (method) => {
  const fields = HINTS.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 102 Processing\r\n\r\n')
    await exchange.write(
      `HTTP/1.1 103 Early Hints\r\nConnection: X-Hop\r\nX-Hop: 1\r\n${fields}Upgrade: h2c\r\n\r\n`,
    )
    await exchange.write('HTTP/1.1 199 Odd\r\nX-Odd: 1\r\n\r\n')
    await exchange.answer({ headers: [['X-Last', '1']], framing: method === 'HEAD' ? 'none' : 'length' })
  })
  const answer = await send(claim('K', 1, { method }))
  expect(answer.interim.map(({ status, headers }) => [status, headers])).toEqual([
    [102, []],
    [103, HINTS],
    [199, [['X-Odd', '1']]],
  ])
  expect([answer.status, answer.values('x-last'), answer.values('link')]).toEqual([200, ['1'], []])
})

test.runIf(passes)('at once: before the body is whole, and before there is an answer', async () => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>()
  upstream.once(async (exchange) => {
    await exchange.bodyBytes(1)
    await exchange.write('HTTP/1.1 103 Early Hints\r\n\r\n')
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 102 Processing\r\n\r\n')
    await goOn
    await exchange.answer()
  })
  const client = await connect()
  await client.send(encode(claim('K', 1, { body: 'a', headers: [['Content-Length', '2']] })))
  expect((await client.head()).status).toBe(103)
  await client.send('b')
  expect((await client.head()).status).toBe(102)
  resolve()
  expect((await client.answer()).status).toBe(200)
  expect((await client.exchange(claim('K', 1))).status).toBe(200)
  client.close()
})

test('one behind the answer belongs to nobody', async () => {
  const client = await connect()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(
      'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmineHTTP/1.1 103 Late\r\nX-Late: 1\r\n\r\n',
    )
  })
  expect((await client.exchange(claim('K', 1))).body.text).toBe('mine')
  const next = await client.exchange(claim('K', 1))
  expect([next.status, next.interim]).toEqual([200, []])
  client.close()
})
