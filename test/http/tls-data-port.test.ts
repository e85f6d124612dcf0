/** The data port over TLS: what goes through it is what goes through plain HTTP. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { client, identityFiles } from '../support/certificates.ts'
import { encode, exchange, RawClient, type RawRequest } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'
import { sha256 } from '../support/wire.ts'

const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 })
await once(sockets, 'listening')
sockets.on('connection', (socket) => {
  socket.on('message', (data, binary) => socket.send(data, { binary }))
})
afterAll(() => sockets.close())

const upstream = await RecordingUpstream.start()
beforeEach(() => upstream.forget())
// Nothing reached the resource that was not HTTP/1.1.
afterEach(() => expect(upstream.faults).toEqual([]))
afterAll(() => upstream.close())
const live = `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`
const sidecar = await Sidecar.start({
  upstream: upstream.url,
  config: {
    tls: identityFiles('server-1'),
    upstream: { forwardedHeaders: true },
    routes: [{ name: 'live', match: { path: '/live' }, upgrades: ['websocket'], upstream: { url: live } }],
  },
})
const connect = () => RawClient.connect(sidecar.port, client())
const send = (request: RawRequest) => exchange(sidecar.port, request, undefined, client())

test('requests follow one another on a connection, whose certificate is the configured one', async () => {
  const connection = await connect()
  const socket = connection.socket as TLSSocket
  expect(socket.getPeerX509Certificate()?.subject).toBe('CN=server-1')
  expect([socket.getProtocol(), socket.alpnProtocol]).toEqual(['TLSv1.3', false])
  for (const token of [1, 2, 2]) {
    expect((await connection.exchange(claim('keep', token))).status).toBe(200)
    expect(upstream.last.values('x-forwarded-proto')).toEqual(['https'])
    expect(upstream.last.values('fencing-token')).toEqual([String(token)])
  }
  refusal(await connection.exchange(claim('keep', 1)), 412, 'stale-token')
  expect((await connection.exchange({ method: 'GET' })).status).toBe(200)
  connection.close()
})

test('pipelined requests are answered in order', async () => {
  const connection = await connect()
  const requests = [claim('pipe', 1), { method: 'GET' }, claim('pipe', 2), claim('pipe', 1)]
  await connection.send(Buffer.concat(requests.map(encode)))
  const statuses: number[] = []
  for (const { method } of requests) statuses.push((await connection.answer(method)).status)
  expect(statuses).toEqual([200, 200, 200, 412])
  connection.close()
})

test('a method that nobody knows passes as the first request of a connection, in one piece or several', async () => {
  for (const pieces of [1, 4]) {
    const connection = await connect()
    const bytes = encode(claim('method', 1, { method: 'SETTLE' }))
    const size = Math.ceil(bytes.length / pieces)
    // Each piece is a record of its own. The first one holds the method.
    for (let at = 0; at < bytes.length; at += size) await connection.send(bytes.subarray(at, at + size))
    expect((await connection.answer()).status).toBe(200)
    expect([upstream.last.method, upstream.last.body.text]).toEqual(['SETTLE', '{}'])
    expect((await connection.exchange(claim('method', 1))).status).toBe(200)
    refusal(await connection.exchange(claim('method', 1, { method: 'SETTLE' })), 501, 'unsupported-method')
    expect(await connection.ended()).toBe('fin')
  }
})

test('a large body arrives whole, each way', async () => {
  const body = randomBytes(8 << 20)
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.answer({ body, framing: 'chunked' })
  })
  for (const chunked of [true, false]) {
    const answer = await send(claim('large', 1, { body, chunked }))
    expect(answer.status).toBe(200)
    expect(upstream.last.body.sha256).toBe(sha256(body))
    if (chunked) expect(answer.body.sha256).toBe(sha256(body))
  }
})

test('Expect: 100-continue: a current token gets its 100, a stale one its refusal alone', async () => {
  const body = randomBytes(2 << 20)
  const head = (token: number) =>
    claim('expect', token, {
      body: undefined,
      headers: [
        ['Content-Length', String(body.length)],
        ['Expect', '100-continue'],
      ],
    })
  const connection = await connect()
  await connection.send(encode(head(9)))
  expect((await connection.head()).status).toBe(100)
  await connection.send(body)
  expect((await connection.answer()).status).toBe(200)
  expect(upstream.last.body.sha256).toBe(sha256(body))
  await connection.send(encode(head(7)))
  const refused = await connection.answer()
  refusal(refused, 412, 'stale-token')
  expect(refused.interim).toEqual([])
  expect(refused.values('connection')).toEqual(['close'])
  expect(await connection.ended()).toBe('fin')
})

test('a refusal comes before the body, and a short rest leaves the connection usable', async () => {
  await send(claim('early', 5))
  const connection = await connect()
  const short = encode(claim('early', 4, { body: 'x'.repeat(1000) }))
  await connection.send(short.subarray(0, -500))
  refusal(await connection.answer(), 412, 'stale-token')
  await connection.send(short.subarray(-500))
  expect((await connection.exchange(claim('early', 5))).status).toBe(200)
  // The whole answer reaches a client that goes on sending.
  const long = encode(claim('early', 4, { body: Buffer.alloc(8 << 20) }))
  void connection.send(long)
  const refused = await connection.answer()
  refusal(refused, 412, 'stale-token')
  expect(refused.values('connection')).toEqual(['close'])
  await connection.ended()
})

test('clients that vanish leave no open write', async () => {
  const held = [upstream.hold(), upstream.hold()]
  const clients = await Promise.all([connect(), connect()])
  for (const [i, connection] of clients.entries()) void connection.send(encode(claim(`gone-${i}`, 1)))
  for (const one of held) await one.arrived
  for (const one of clients) one.close()
  for (const one of held) one.release()
  const open = async () => (await sidecar.metrics()).sum('fencegate_open_writes')
  await until(async () => (await open()) === 0, 'their ends')
})

test('a WebSocket is passed through, and cut by a higher token', async () => {
  const open = async (token: string) => {
    const socket = new WebSocket(`wss://127.0.0.1:${sidecar.port}/live`, {
      ...client(),
      headers: { 'Fencing-Task': 'live', 'Fencing-Token': token },
    })
    await once(socket, 'open')
    return socket
  }
  const echo = async (socket: WebSocket, text: string) => {
    const answer = once(socket, 'message')
    socket.send(text)
    expect(String((await answer)[0])).toBe(text)
  }
  const first = await open('1')
  await echo(first, 'one')
  await echo(first, 'x'.repeat(300_000))
  const closed = once(first, 'close')
  const second = await open('2')
  expect((await closed)[0]).toBe(1006)
  await echo(second, 'two')
  const ended = once(second, 'close')
  second.close(1000)
  expect((await ended)[0]).toBe(1000)
})
