/** The sidecar's own certificate towards the resource: shown where it is configured, and only there. */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import type { TLSSocket, TlsOptions } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { identity, identityFiles, pem, pemFile } from '../support/certificates.ts'
import { unknown } from '../support/operator.ts'
import { exchange } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { type Settings, Sidecar } from '../support/sidecar.ts'

const ca = pemFile('server-ca')
const settler = identityFiles('client-settler')
const foreign = identityFiles('client-foreign')

/** Resources that ask for a certificate. */
const asking = (options: TlsOptions = {}) =>
  RecordingUpstream.start({
    tls: { ...identity('server-1'), ca: pem('clients-ca'), requestCert: true, ...options },
  })
const older = await asking({ maxVersion: 'TLSv1.2' })
const newer = await asking({ minVersion: 'TLSv1.3' })
const optional = await asking({ rejectUnauthorized: false })
afterAll(() => Promise.all([older, newer, optional].map((upstream) => upstream.close())))

/** In front of `newer`: what comes after the handshake is kept back until the client has said more. */
const silent = net.createServer((client) => {
  const resource = net.connect(newer.port, '127.0.0.1')
  const kept: Buffer[] = []
  let flights = 0
  client.on('data', (bytes) => {
    flights++
    if (flights > 2) for (const one of kept.splice(0)) client.write(one)
    resource.write(bytes)
  })
  resource.on('data', (bytes: Buffer) => void (flights === 2 ? kept.push(bytes) : client.write(bytes)))
  for (const [one, other] of [
    [client, resource],
    [resource, client],
  ] as const) {
    one.on('error', () => {}).on('close', () => other.destroy())
  }
})
silent.listen(0, '127.0.0.1')
await once(silent, 'listening')
afterAll(() => silent.close())

const route = (name: string, { url }: { url: string }, tls: Settings = {}) => ({
  name,
  match: { path: `/${name}` },
  upstream: { url, tls },
})
const sidecar = await Sidecar.start({
  upstream: newer.url,
  config: {
    upstream: { tls: { ca, ...settler } },
    routes: [
      route('older', older, { ca, ...settler }),
      route(
        'silent',
        { url: `https://localhost:${(silent.address() as AddressInfo).port}` },
        { ca, ...settler },
      ),
      route('older-foreign', older, { ca, ...foreign }),
      route('newer-foreign', newer, { ca, ...foreign }),
      route('older-bare', older, { ca }),
      route('newer-bare', newer, { ca }),
      route('distrusting', optional),
      route('trusting', optional, { ca }),
      { name: 'inheriting', match: { path: '/inheriting' }, upstream: { via: true } },
    ],
  },
})
const send = (target: string) => exchange(sidecar.port, claim(target, 1, { target }))
const names = ({ connections }: RecordingUpstream) => {
  const socket = connections.at(-1)?.socket as TLSSocket | undefined
  return socket?.getPeerX509Certificate()?.subjectAltName
}

test.each([
  ['/older', older],
  ['/', newer],
  ['/inheriting', newer],
] as const)('%s: shown to a resource that requires it', async (target, upstream) => {
  expect((await send(target)).status).toBe(200)
  expect(names(upstream)).toBe('URI:spiffe://prod.example/ns/pay/sa/settler')
})

test.each(['/older-foreign', '/newer-foreign'])(
  '%s: one that the resource does not take: nothing is sent, and nothing is on record as unknown',
  async (target) => {
    const problem = refusal(await send(target), 502, 'upstream-unreachable')
    expect(problem.sent).toBe('no')
    refusal(await exchange(sidecar.port, { method: 'GET', target }), 502, 'upstream-unreachable')
    expect((await unknown(sidecar)).filter(({ task }) => task === target)).toEqual([])
  },
)

test('a resource that says nothing after the handshake is believed before long', async () => {
  const started = performance.now()
  expect((await send('/silent')).status).toBe(200)
  expect(performance.now() - started).toBeGreaterThan(200)
})

test('without one, TLS 1.2 tells before anything is sent', async () => {
  const problem = refusal(await send('/older-bare'), 502, 'upstream-unreachable')
  expect(problem).toMatchObject({ sent: 'no', detail: expect.stringContaining('upstream.tls.cert') })
})

test('without one, TLS 1.3 tells too late: the outcome is unknown, and nobody says otherwise', async () => {
  const before = newer.bytesReceived
  const problem = refusal(await send('/newer-bare'), 502, 'outcome-unknown')
  expect(problem.sent).toBe('unknown')
  expect(await unknown(sidecar)).toMatchObject([{ task: '/newer-bare', reason: 'connection-lost' }])
  expect(newer.bytesReceived).toBe(before)
})

test('a route with its own url inherits neither the certificate nor the CA', async () => {
  refusal(await send('/distrusting'), 502, 'upstream-unreachable')
  expect(optional.connections).toEqual([])
  expect((await send('/trusting')).status).toBe(200)
  expect(names(optional)).toBeUndefined()
})
