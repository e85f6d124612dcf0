/** P5: whatever a resource answers, the client gets that answer or is told that the outcome is unknown. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, metric } = await scene()

const MINE = 'Content-Length: 4\r\n\r\nmine'

/** Scripts the bytes of an answer to a whole request. */
function answerWith(bytes: string) {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reusable = true
    await exchange.write(bytes)
  })
}

test.each([
  ['a status below 100', 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 Low\r\nContent-Length: 0\r\n\r\n'],
  ['another protocol', 'SIP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a NUL in a value', 'HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n'],
  ['a control character in a value', 'HTTP/1.1 200 OK\r\nX-A: a\x01b\r\nContent-Length: 0\r\n\r\n'],
  ['a space in a name', 'HTTP/1.1 200 OK\r\nX A: a\r\nContent-Length: 0\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'an upgrade nobody asked for',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
  ],
  ['a 100 nobody asked for', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n${MINE}`],
  ['a head without end', `HTTP/1.1 200 OK\r\n${'X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(3000)}`],
])('%s: outcome-unknown, once', async (_, bytes) => {
  answerWith(bytes)
  refusal(await send(claim('K', 1)), 502, 'outcome-unknown')
  expect(upstream.requests).toHaveLength(1)
  expect((await send(claim('K', 1))).status).toBe(200)
})

test.each([
  ['a Trailer field and a length', `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n${MINE}`],
  ['a reason that is not ASCII', `HTTP/1.1 200 Tr\xe8s bien\r\n${MINE}`],
  ['no reason', `HTTP/1.1 200 \r\n${MINE}`],
  ['many interim answers', `${'HTTP/1.1 102 Wait\r\n\r\n'.repeat(20)}HTTP/1.1 200 OK\r\n${MINE}`],
  ['an empty value', `HTTP/1.1 200 OK\r\nX-A:\r\n${MINE}`],
  ['a Proxy-Status of its own', `HTTP/1.1 200 OK\r\nProxy-Status: other; error=x\r\n${MINE}`],
])('%s: passed on', async (_, bytes) => {
  for (const method of ['PUT', 'GET']) {
    answerWith(bytes)
    const answer = await send(claim('K', 1, { method }))
    expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
  }
  expect(upstream.requests).toHaveLength(2)
})

test('the status 999: passed on', async () => {
  answerWith(`HTTP/1.1 999 Odd\r\n${MINE}`)
  const answer = await send(claim('K', 1))
  expect([answer.status, answer.body.text]).toEqual([999, 'mine'])
})

test.each([204, 304])('a %i with a Trailer field is passed on', async (status) => {
  for (const method of ['PUT', 'GET', 'HEAD']) {
    answerWith(`HTTP/1.1 ${status} None\r\nTrailer: X-Sum\r\n\r\n`)
    expect((await send(claim('K', 1, { method, body: undefined }))).status).toBe(status)
  }
})

test('bytes that a resource sends on an idle connection answer nobody', async () => {
  expect((await send(claim('K', 1))).status).toBe(200)
  const { connection } = upstream.last
  const { socket } = upstream.connections[connection] as (typeof upstream.connections)[0]
  socket.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\nConnection: close\r\n\r\nidle')
  await upstream.changes.when(() => upstream.connections[connection]?.ended !== undefined, 'the end of it')
  const answer = await send(claim('K', 1))
  expect([answer.status, answer.body.text]).toEqual([200, ''])
})

test('after all that the sidecar lives, and no write is open', async () => {
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
})
