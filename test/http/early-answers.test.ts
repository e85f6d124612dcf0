/** Answers that come before the body is whole: the client gets them, and its connection is not used again. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, connect, metric } = await scene()
const BODY = Buffer.alloc(1 << 20, 'a megabyte ')
const [BEGINNING, REST] = [BODY.subarray(0, 1000), BODY.subarray(1000)]
const LENGTH: HeaderPair = ['Content-Length', String(BODY.length)]
const answered = () => metric('fencegate_outcomes_total', { outcome: 'answered' })

test.each([
  ['PUT', 413, []],
  ['PUT', 413, [['Connection', 'close']]],
  ['PUT', 200, []],
  ['GET', 401, [['WWW-Authenticate', 'Basic realm="a"']]],
] as const)('%s: a %i to a client that goes on sending', async (method, status, headers) => {
  const before = await answered()
  upstream.once(async (exchange) => {
    await exchange.bodyBytes(1)
    await exchange.answer({ status, headers, body: 'enough' })
  })
  const client = await connect()
  await client.send(encode(claim('K', 1, { method, headers: [LENGTH], body: BEGINNING })))
  const answer = await client.answer(method)
  await client.send(REST)
  expect([answer.status, answer.body.text, answer.values('connection')]).toEqual([
    status,
    'enough',
    ['close'],
  ])
  expect(answer.values('www-authenticate')).toEqual(
    headers.filter(([name]) => name === 'WWW-Authenticate').map(([, v]) => v),
  )
  expect(await client.ended()).toBe('fin')
  expect(upstream.whole).toEqual([])
  if (method === 'PUT') expect(await answered()).toBe(before + 1)
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
  client.close()
})

test('to a client that waits for 100: the sidecar says it, and the refusal of the resource comes after it', async () => {
  upstream.once((exchange) => exchange.answer({ status: 401, body: 'who?' }))
  const client = await connect()
  await client.send(encode(claim('K', 1, { body: '', headers: [LENGTH, ['Expect', '100-continue']] })))
  expect((await client.head()).status).toBe(100)
  await client.send('begins')
  const answer = await client.answer()
  expect([answer.status, answer.body.text, answer.values('connection')]).toEqual([401, 'who?', ['close']])
  client.close()
})

test('a resource that answers, closes and reads no further', async () => {
  upstream.once(async (exchange) => {
    exchange.pause()
    await exchange.answer({ status: 413, headers: [['Connection', 'close']], body: 'enough' })
    exchange.reset()
  })
  const client = await connect()
  await client.send(encode(claim('K', 1, { headers: [LENGTH], body: BEGINNING })))
  // Its reset may overtake its answer, as it would without a sidecar: then nobody knows the outcome.
  const answer = await client.answer()
  expect([413, 502]).toContain(answer.status)
  expect(answer.body.text).toContain(answer.status === 413 ? 'enough' : 'outcome-unknown')
  client.close()
})

test.each(['PUT', 'GET'])('%s: both sides may speak at the same time', async (method) => {
  upstream.once(async (exchange) => {
    await exchange.bodyBytes(3)
    await exchange.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n')
    await exchange.bodyBytes(6)
    await exchange.write('3\r\ntwo\r\n')
    await exchange.wholeBody()
    exchange.reusable = true
    await exchange.write('0\r\n\r\n')
  })
  const client = await connect()
  const head = `${method} /x HTTP/1.1\r\nHost: a\r\nFencing-Task: K\r\nFencing-Token: 1\r\n`
  await client.send(`${head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`)
  const answer = client.answer(method)
  await until(() => client.reader.received > 0, 'the first part of the answer')
  await client.send('3\r\ndef\r\n')
  await client.send('0\r\n\r\n')
  expect((await answer).body.text).toBe('onetwo')
  expect(upstream.last.body.text).toBe('abcdef')
  expect(upstream.last.body.complete).toBe(true)
  client.close()
})
