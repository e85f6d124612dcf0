/** Whoever asks for HTTP/2 or gRPC, by whatever key, gets told that they are not spoken. And what upgrades may be. */
import { expect, test } from 'vitest'
import { describeRoutes } from '../../src/config/describe.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
const REFUSAL =
  'asks for HTTP/2 or gRPC, which are not spoken: remove it; the data port and the resource speak HTTP/1.1'
const route = (keys: string) => `routes: [{ name: r, match: { path: /r }, ${keys} }]`

test.each([
  'http2',
  'HTTP2',
  'h2',
  'h2c',
  'H2C',
  'allowH2',
  'allowHTTP2',
  'http2MaxStreams',
  'grpc',
  'gRPC',
  'grpcWeb',
])('the key %s', (key) => {
  directory.expectFault(`${key}: true`, `${key}: ${REFUSAL}`, '')
  directory.expectFault(`tls: { ${key}: true }`, `tls.${key}: ${REFUSAL}`, '')
  directory.expectFault(`upstream: { url: "http://a", ${key}: 1 }`, `upstream.${key}: ${REFUSAL}`, '')
  directory.expectFault(route(`upstream: { ${key}: {} }`), `routes[0].upstream.${key}: ${REFUSAL}`, '')
  directory.expectFault(route(`${key}: 1`), `routes[0].${key}: ${REFUSAL}`, '')
})

test.each(['http', 'path2', 'h', 'allow'])('the key %s is only unknown', (key) => {
  directory.expectFault(`${key}: true`, `${key}: is not a key here`, '')
})

test.each(['h2c://a', 'grpc://a:50051', 'GRPCS://a', 'h2://a', 'grpc:a'])('the URL %s', (url) => {
  directory.expectFault(`upstream: { url: "${url}" }`, `upstream.url: "${url}" ${REFUSAL}`, '')
  directory.expectFault(
    route(`upstream: { url: "${url}" }`),
    `routes[0].upstream.url: "${url}" ${REFUSAL}`,
    '',
  )
})

test.each(['h2c', 'H2C', 'h2', 'http/2.0', 'HTTP/2', 'h3', 'grpc'])('an upgrade to %s', (name) => {
  directory.expectFault(route(`upgrades: ["${name}"]`), `routes[0].upgrades[0]: "${name}" ${REFUSAL}`, '')
})

test.each([
  ['upgrades: [tls/1.0]', 'routes[0].upgrades[0]: "tls/1.0" can\'t be begun within a connection', 'https'],
  ['upgrades: [TLS/1.2]', 'routes[0].upgrades[0]: "TLS/1.2" can\'t be begun', 'a certificate in tls'],
  [
    'upgrades: [websocket, WebSocket]',
    'routes[0].upgrades[1]: "WebSocket" is not in lower',
    'write websocket',
  ],
  ['upgrades: ["a b"]', 'routes[0].upgrades[0]: "a b" is not a protocol', 'websocket'],
  ['upgrades: ["*/*/*"]', 'routes[0].upgrades[0]: "*/*/*" is not a protocol', ''],
  ['upgrades: [""]', 'routes[0].upgrades[0]: "" is not a protocol', ''],
  ['upgrades: [websocket, websocket]', 'routes[0].upgrades: the list does not fit', 'each named once'],
  ['upgrades: websocket', 'routes[0].upgrades: "websocket" does not fit', 'a list of protocols'],
  ['upgrades: [1]', 'routes[0].upgrades[0]: 1 does not fit', 'a protocol such as websocket'],
  [
    'upgrades: [websocket], onUnknown: hold',
    "routes[0].upgrades: can't be allowed with onUnknown hold",
    'proceed',
  ],
])('%s', (keys, start, part) => directory.expectFault(route(keys), start, part))

test('upgrades are off unless a route names them, and are shown', () => {
  const { config } = directory.load(route('upgrades: [websocket, spdy/3.1]'))
  expect(config.routes.map(({ upgrades }) => upgrades)).toEqual([['websocket', 'spdy/3.1'], []])
  expect(describeRoutes(config)[0]).toMatch(/; may upgrade to websocket, spdy\/3\.1$/)
  expect(describeRoutes(config)[1]).not.toContain('upgrade')
  expect(directory.faultsOf(route('upgrades: [], onUnknown: hold'))).toEqual([])
})
