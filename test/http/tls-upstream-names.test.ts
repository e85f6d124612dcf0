/** Whose certificate is right: that of the host of `url`, or of `upstream.tls.serverName`; never of what a client says. */
import type { TLSSocket } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { identity, pemFile } from '../support/certificates.ts'
import { exchange, type RawRequest } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { type Settings, Sidecar } from '../support/sidecar.ts'

const here = await RecordingUpstream.start({ tls: identity('server-1') })
const ledger = await RecordingUpstream.start({ tls: identity('server-ledger') })
afterAll(() => Promise.all([here.close(), ledger.close()]))

const route = (name: string, { port }: RecordingUpstream, host: string, tls: Settings = {}) => ({
  name,
  match: { path: `/${name}` },
  upstream: {
    url: `https://${host}:${port}`,
    host: 'preserve',
    connections: 1,
    tls: { ca: pemFile('server-ca'), ...tls },
  },
})
const sidecar = await Sidecar.start({
  upstream: here.url,
  config: {
    routes: [
      route('named', ledger, 'localhost', { serverName: 'ledger.example' }),
      route('alias', ledger, 'localhost'),
      route('address', ledger, '127.0.0.1'),
      route('misnamed', here, 'localhost', { serverName: 'ledger.example' }),
      route('by-name', here, 'localhost'),
      route('by-address', here, '127.0.0.1'),
    ],
  },
})
const send = (target: string, host: string, method = 'PUT') => {
  const request: RawRequest = { method, target, headers: [['Host', host]] }
  return exchange(sidecar.port, method === 'PUT' ? claim(target, 1, request) : request)
}
/** The names that the connections made since the last call asked for. */
const asked = (upstream: RecordingUpstream) =>
  upstream.connections.splice(0).map(({ socket }) => {
    return (socket as TLSSocket & { servername?: string | false }).servername
  })

test('serverName is asked for and checked, whatever the Host', async () => {
  for (const [method, host] of [
    ['PUT', 'localhost'],
    ['GET', 'other.example'],
  ] as const) {
    expect((await send('/named', host, method)).status).toBe(200)
    expect(ledger.last.values('host')).toEqual([host])
  }
  expect(asked(ledger)).toEqual(['ledger.example'])
})

test.each(['/alias', '/address', '/misnamed'])(
  '%s: a certificate for another name is refused, and the message says what to do',
  async (target) => {
    const before = here.requests.length + ledger.requests.length
    for (const method of ['PUT', 'GET']) {
      // The certificate has this name, and a client that says it changes nothing.
      const problem = refusal(await send(target, 'ledger.example', method), 502, 'upstream-unreachable')
      expect(problem).toMatchObject({
        sent: 'no',
        detail: expect.stringContaining('upstream.tls.serverName'),
      })
    }
    expect(here.requests.length + ledger.requests.length).toBe(before)
  },
)

test.each([
  ['/by-name', 'localhost'],
  ['/by-address', false],
])('%s: a preserved Host chooses neither name nor connection', async (target, name) => {
  asked(here)
  for (const host of ['ledger.example', 'other.example', 'localhost', 'ledger.example']) {
    for (const method of ['PUT', 'GET']) {
      expect((await send(target, host, method)).status).toBe(200)
      expect(here.last.values('host')).toEqual([host])
    }
  }
  expect(asked(here)).toEqual([name])
})
