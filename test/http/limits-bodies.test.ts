/** `limits.bodySize`: what is too large is not sent where that can be told before, and never arrives whole. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { chunk } from '../support/upstream-exchange.ts'
import { until } from '../support/wait.ts'

const LIMIT = 1024
const { upstream, send, connect, metric } = await scene({ limits: { bodySize: '1KiB' } })
const unknown = () => metric('fencegate_outcomes_total', { outcome: 'unknown' })
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const head = (task: string) => `PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Task: ${task}\r\nFencing-Token: 1\r\n`

test('as much as the limit arrives, with a length or chunked', async () => {
  for (const chunked of [false, true]) {
    const answer = await send(claim('K', 1, { body: 'a'.repeat(LIMIT), chunked }))
    expect([answer.status, upstream.last.body.bytes]).toEqual([200, LIMIT])
  }
})

test.each([
  ['a write', claim('K', 1)],
  ['a read', { method: 'GET' }],
  ['an announcement', claim('K', 1, { method: 'POST', target: '/.well-known/fencegate/announce' })],
  ['a write without a token', {}],
])('a length above the limit, of %s: 413 before anything is sent', async (_, request) => {
  const client = await connect()
  await client.send(
    encode({
      ...request,
      body: '',
      headers: [...(request.headers ?? []), ['Content-Length', `${LIMIT + 1}`]],
    }),
  )
  const answer = await client.answer(request.method)
  expect(refusal(answer, 413, 'body-too-large')).toMatchObject({
    sent: 'no',
    retry: 'never',
    detail: expect.stringContaining('limits.bodySize'),
  })
  // What follows is the body, and the connection goes on behind it.
  await client.send('a'.repeat(LIMIT + 1))
  expect((await client.exchange(claim('K', 1))).status).toBe(200)
  expect(upstream.requests.map(({ body }) => body.text)).toEqual(['{}'])
  client.close()
})

test('a length far above the limit: 413 reaches a client that sends first, and the connection ends', async () => {
  const client = await connect()
  void client.send(encode(claim('K', 1, { body: Buffer.alloc(2e6) })))
  const answer = await client.answer()
  refusal(answer, 413, 'body-too-large')
  expect(answer.values('connection')).toEqual(['close'])
  await client.ended()
  expect(upstream.requests).toEqual([])
})

test('with Expect: 100-continue there is no 100 before the 413', async () => {
  const client = await connect()
  await client.send(`${head('K')}Expect: 100-continue\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`)
  const answer = await client.answer()
  refusal(answer, 413, 'body-too-large')
  expect(answer.interim).toEqual([])
  expect(answer.values('connection')).toEqual(['close'])
  expect(await client.ended()).toBe('fin')
  expect(upstream.requests).toEqual([])
})

test('chunks whose first bytes are above the limit: 413, nothing sent', async () => {
  const before = upstream.bytesReceived
  const answer = await send(claim('first', 1, { body: 'a'.repeat(LIMIT + 1), chunked: true }))
  expect(refusal(answer, 413, 'body-too-large')).toMatchObject({ sent: 'no', task: 'first', token: '1' })
  expect([upstream.requests, upstream.bytesReceived]).toEqual([[], before])
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
})

test('with Expect: 100-continue, chunks above the limit: 100, then 413, nothing sent', async () => {
  const client = await connect()
  await client.send(`${head('waits')}Expect: 100-continue\r\n${CHUNKED}\r\n`)
  expect((await client.head()).status).toBe(100)
  await client.send(chunk('a'.repeat(LIMIT + 1)))
  refusal(await client.answer(), 413, 'body-too-large')
  await client.ended()
  expect(upstream.requests).toEqual([])
})

test('chunks that go above the limit later: cut, outcome unknown, and never whole at the resource', async () => {
  const recorded = await unknown()
  const client = await connect()
  await client.send(`${head('later')}${CHUNKED}\r\n`)
  for (let sent = 256; sent <= LIMIT; sent += 256) {
    await client.send(chunk('a'.repeat(256)))
    await upstream.changes.when(() => upstream.requests[0]?.body.bytes === sent, `${sent} bytes`)
  }
  // The one byte too many, and the end: a resource that got it would take the body for whole.
  await client.send(`${chunk('b')}0\r\n\r\n`)
  const problem = refusal(await client.answer(), 502, 'outcome-unknown')
  expect(problem).toMatchObject({
    task: 'later',
    token: '1',
    sent: 'unknown',
    retry: 'same-operation',
    detail: expect.stringContaining('limits.bodySize'),
  })
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'ended', 'the cut')
  expect(upstream.requests.map(({ body }) => [body.complete, body.text])).toEqual([
    [false, 'a'.repeat(LIMIT)],
  ])
  await until(async () => (await unknown()) === recorded + 1, 'the record of it')
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
  client.close()
})

test('a read whose chunks go above the limit is cut, and its connection freed', async () => {
  const client = await connect()
  await client.send(`GET /x HTTP/1.1\r\nHost: a\r\n${CHUNKED}\r\n${chunk('a'.repeat(LIMIT))}`)
  await upstream.changes.when(() => upstream.requests[0]?.body.bytes === LIMIT, 'the limit')
  await client.send(chunk('b'))
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'ended', 'the cut')
  const answer = await client.answer('GET')
  expect(refusal(answer, 502, 'outcome-unknown').detail).toContain('limits.bodySize')
  expect(upstream.whole).toEqual([])
  client.close()
})
