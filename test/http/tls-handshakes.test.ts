/** Handshakes with the data port that fail, stall or never begin: they cost a connection for a bounded time, no more. */
import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { client, identityFiles } from '../support/certificates.ts'
import { encode, exchange, RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const HEAD_TIMEOUT_MS = 700
const { sidecar, upstream } = await scene({
  tls: identityFiles('server-1'),
  limits: { headTimeout: `${HEAD_TIMEOUT_MS}ms`, connections: 4 },
})
const serves = async () => (await exchange(sidecar.port, claim('K', 1), undefined, client())).status

/** How a connection ends that begins with these bytes, and what came back on it. */
async function begin(bytes: Buffer): Promise<{ received: Buffer; ms: number }> {
  const started = performance.now()
  const socket = net.connect(sidecar.port, '127.0.0.1')
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk)).on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return { received: Buffer.concat(received), ms: performance.now() - started }
}

/** The first bytes of a real handshake. */
async function clientHello(): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as net.AddressInfo
  const socket = tls.connect({ port: address.port, host: '127.0.0.1' }).on('error', () => {})
  const [peer] = (await once(server, 'connection')) as [net.Socket]
  const [hello] = (await once(peer, 'data')) as [Buffer]
  socket.destroy()
  peer.destroy()
  server.close()
  return hello
}

test('plain HTTP is not answered as HTTP, and nothing of it is taken for a request', async () => {
  const { received } = await begin(encode(claim('K', 9)))
  expect(received.toString('latin1')).not.toContain('HTTP')
  expect(upstream.bytesReceived).toBe(0)
  expect(await serves()).toBe(200)
})

test.each([
  ['nothing', () => Buffer.alloc(0)],
  ['half a ClientHello', async () => (await clientHello()).subarray(0, 100)],
  ['one byte of a record', async () => Buffer.from([22])],
])('%s: the connection ends after headTimeout', async (_, bytes) => {
  const { ms } = await begin(await bytes())
  expect(ms).toBeGreaterThan(HEAD_TIMEOUT_MS - 50)
  expect(ms).toBeLessThan(HEAD_TIMEOUT_MS + 1500)
})

test('after a handshake, silence ends it too, and half a head gets its 408', async () => {
  const silent = await RawClient.connect(sidecar.port, client())
  const slow = await RawClient.connect(sidecar.port, client())
  await slow.send('PUT /x HTTP/1.1\r\nHost: a\r\n')
  refusal(await slow.answer(), 408, 'head-timeout')
  await slow.ended()
  await silent.ended()
})

test('unfinished handshakes count as connections; when they have ended, others are served', async () => {
  const open = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const socket = net.connect(sidecar.port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      return socket
    }),
  )
  // Counted once the sidecar has them.
  await until(async () => (await serves().catch(() => undefined)) === undefined, 'the limit')
  for (const socket of open) socket.destroy()
  await until(async () => (await serves().catch(() => undefined)) === 200, 'room for another')
})

test.each(['TLSv1', 'TLSv1.1'] as const)('%s is refused', async (maxVersion) => {
  const old = { ...client(), minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await expect(RawClient.connect(sidecar.port, old)).rejects.toMatchObject({
    code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  })
})

test('TLS 1.2 is spoken, HTTP/2 is not', async () => {
  const older = { ...client(), maxVersion: 'TLSv1.2' } as const
  expect((await exchange(sidecar.port, claim('K', 1), undefined, older)).status).toBe(200)
  const http2 = { ...client(), ALPNProtocols: ['h2'] }
  await expect(RawClient.connect(sidecar.port, http2)).rejects.toThrow(/no application protocol/i)
  const either = await RawClient.connect(sidecar.port, { ...client(), ALPNProtocols: ['h2', 'http/1.1'] })
  expect((either.socket as tls.TLSSocket).alpnProtocol).toBe('http/1.1')
  either.close()
})

test('a failed handshake is no request: none is logged as refused, and none is counted', async () => {
  expect(sidecar.logs.filter(({ code }) => code === 'malformed-request')).toEqual([])
})

test('a stop waits neither for a handshake nor for an idle connection', async () => {
  const half = net.connect(sidecar.port, '127.0.0.1').on('error', () => {})
  await once(half, 'connect')
  const idle = await RawClient.connect(sidecar.port, client())
  const started = performance.now()
  expect(await sidecar.stop()).toBe(0)
  expect(performance.now() - started).toBeLessThan(4000)
  await idle.ended()
})

test('TLS towards a plain port gets no handshake, and does no harm', async () => {
  const plain = await scene()
  await expect(RawClient.connect(plain.sidecar.port, client())).rejects.toThrow(
    /wrong version number|packet/i,
  )
  expect(plain.upstream.bytesReceived).toBe(0)
  expect((await plain.send(claim('K', 1))).status).toBe(200)
})
