/** P5: whatever a resource answers, the client gets that answer or is told that the outcome is unknown. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, metric } = await scene()

const MINE = 'Content-Length: 4\r\n\r\nmine'
const CHUNKS = '4\r\nmine\r\n0\r\n\r\n'

/** Scripts the bytes of an answer to a whole request. */
function answerWith(bytes: string) {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reusable = bytes.includes('ength:') || bytes.includes('chunked')
    await exchange.write(bytes)
    if (!exchange.reusable) exchange.close()
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
  ['a 101 to no protocol', `HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\n${MINE}`],
  ['two equal lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nmine'],
  ['a length that is a list', 'HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nmine'],
  ['a coding besides chunked', `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${CHUNKS}`],
  ['chunks in chunks', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n${CHUNKS}`],
  ['chunked twice', `HTTP/1.1 200 OK\r\n${'Transfer-Encoding: chunked\r\n'.repeat(2)}\r\n${CHUNKS}`],
  ['a coding without chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nmine'],
  ['a folded value', `HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\n${MINE}`],
  ['a bare LF', 'HTTP/1.1 200 OK\nContent-Length: 4\n\nmine'],
  ['a space before a colon', `HTTP/1.1 200 OK\r\nX-A : a\r\n${MINE}`],
  ['a 100 nobody asked for', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n${MINE}`],
  ['a head without end', `HTTP/1.1 200 OK\r\n${'X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(3000)}`],
])('%s: outcome-unknown, once', async (_, bytes) => {
  for (const method of ['PUT', 'GET']) {
    answerWith(bytes)
    refusal(await send(claim('K', 1, { method })), 502, 'outcome-unknown')
    expect((await send(claim('K', 1, { method }))).status).toBe(200)
  }
  expect(upstream.requests).toHaveLength(4)
})

test.each([
  ['a Trailer field and a length', `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n${MINE}`],
  ['many interim answers', `${'HTTP/1.1 102 Wait\r\n\r\n'.repeat(20)}HTTP/1.1 200 OK\r\n${MINE}`],
  ['an empty value', `HTTP/1.1 200 OK\r\nX-A:\r\n${MINE}`],
  ['a coding that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nmine'],
  ['a Proxy-Status of its own', `HTTP/1.1 200 OK\r\nProxy-Status: other; error=x\r\n${MINE}`],
])('%s: passed on', async (_, bytes) => {
  for (const method of ['PUT', 'GET']) {
    answerWith(bytes)
    const answer = await send(claim('K', 1, { method }))
    expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
  }
  expect(upstream.requests).toHaveLength(2)
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
