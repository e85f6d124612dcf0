/** Certificates and keys: of the data port, and towards the resource. What is read fits; what doesn't is told. */
import { generateKeyPairSync } from 'node:crypto'
import path from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { warningsOf } from '../../src/config/warnings.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
const PEM = { type: 'pkcs8', format: 'pem' } as const

directory.write('damaged.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n')
directory.write('damaged-key.pem', '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n')
directory.write('no-pem.txt', 'secret')
directory.write(
  'encrypted-key.pem',
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    ...PEM,
    cipher: 'aes-256-cbc',
    passphrase: 'p',
  }) as string,
)
directory.write(
  'legacy-encrypted-key.pem',
  '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n',
)
directory.write('chain.pem', directory.read('server-1.pem') + directory.read('server-ca.pem'))
directory.write('upside-down.pem', directory.read('server-ca.pem') + directory.read('server-1.pem'))
directory.write('all-in-one.pem', directory.read('server-1-key.pem') + directory.read('chain.pem'))

const https = (keys: string) => `upstream: { url: "https://a", ${keys} }\n`

test('the data port’s certificate, with what it asks of clients', () => {
  const { config } = directory.load('tls: { cert: chain.pem, key: server-1-key.pem }')
  expect(config.tls).toEqual({
    cert: directory.read('chain.pem'),
    key: directory.read('server-1-key.pem'),
    clientCa: undefined,
    clientCertificate: 'required',
  })
  const asking = directory.load(
    'tls: { cert: all-in-one.pem, key: all-in-one.pem, clientCa: clients-ca.pem, clientCertificate: optional }',
  )
  expect(asking.config.tls).toMatchObject({
    clientCa: directory.read('clients-ca.pem'),
    clientCertificate: 'optional',
  })
})

test.each(['', 'tls: {}', 'tls:', 'tls: { clientCertificate: optional }'])(
  'without a certificate the data port speaks plain HTTP: %j',
  (yaml) => expect(directory.load(yaml).config.tls).toBeUndefined(),
)

test('towards the resource', () => {
  const keys = 'ca: server-ca.pem, cert: client-dns.pem, key: client-dns-key.pem, serverName: Ledger.Example'
  expect(directory.load(https(`tls: { ${keys} }`)).config.upstream.tls).toEqual({
    ca: directory.read('server-ca.pem'),
    cert: directory.read('client-dns.pem'),
    key: directory.read('client-dns-key.pem'),
    serverName: 'ledger.example',
  })
})

const FILES = [
  ['cert: none.pem', 'cert: cannot be read: ENOENT', 'name a PEM file'],
  ['cert: ""', 'cert: "" is not a path', ''],
  ['cert: no-pem.txt', 'cert: "no-pem.txt" holds no certificate', 'name a PEM file that does'],
  ['cert: damaged.pem', 'cert: "damaged.pem" holds a damaged certificate', 'replace it'],
  ['key: none.pem', 'key: cannot be read: ENOENT', 'name a PEM file'],
  ['key: no-pem.txt', 'key: "no-pem.txt" holds no private key', 'name a PEM file that does'],
  ['key: server-1.pem', 'key: "server-1.pem" holds no private key', ''],
  ['key: damaged-key.pem', 'key: "damaged-key.pem" holds a damaged private key', 'replace it'],
  ['key: encrypted-key.pem', 'key: "encrypted-key.pem" is encrypted', 'openssl pkey'],
  ['key: legacy-encrypted-key.pem', 'key: "legacy-encrypted-key.pem" is encrypted', 'openssl pkey'],
  ['key: server-2-key.pem', 'key: "server-2-key.pem" does not belong to', "the certificate's own key"],
  ['cert: upside-down.pem', 'key: "server-1-key.pem" does not belong to', 'put that one first'],
] as const

test.each(FILES)('what does not fit is told, on both sides: %s', (change, start, part) => {
  const [changed = ''] = change.split(':')
  const keys = { cert: 'server-1.pem', key: 'server-1-key.pem' }
  const rest = Object.entries(keys).filter(([key]) => key !== changed)
  const pair = [change, ...rest.map(([key, file]) => `${key}: ${file}`)].join(', ')
  directory.expectFault(`tls: { ${pair} }`, `tls.${start}`, part)
  directory.expectFault(https(`tls: { ${pair} }`), `upstream.tls.${start}`, part)
})

test.each([
  ['tls: { cert: server-1.pem }', 'tls.key: is missing', 'private key of tls.cert'],
  ['tls: { key: server-1-key.pem }', 'tls.cert: is missing', 'that tls.key is for'],
  ['tls: { clientCa: clients-ca.pem }', 'tls.cert: is missing', 'or remove clientCa'],
  ['tls: { clientCa: none.pem }\n', 'tls.clientCa: cannot be read', ''],
  ['tls: { clientCertificate: never }', 'tls.clientCertificate: "never" does not fit', 'required, optional'],
  ['tls: { cert: }', 'tls.cert: is empty', 'the path of a PEM file'],
  [https('tls: { cert: client-dns.pem }'), 'upstream.tls.key: is missing', ''],
  [https('tls: { key: client-dns-key.pem }'), 'upstream.tls.cert: is missing', ''],
  [https('tls: { serverName: 127.0.0.1 }'), 'upstream.tls.serverName: "127.0.0.1" is not a host', 'such as'],
  [
    https('tls: { serverName: "https://b" }'),
    'upstream.tls.serverName: "https://b" is not',
    'without scheme',
  ],
  [https('tls: { serverName: "" }'), 'upstream.tls.serverName: "" is not a host name', ''],
])('%s', (yaml, start, part) => {
  const faults = directory.faultsOf(yaml)
  expect(faults[0]?.slice(0, start.length)).toBe(start)
  expect(faults[0]).toContain(part)
})

test('a key that TLS would not take is told before it is used', () => {
  directory.expectFault(
    'tls: { cert: weak.pem, key: weak-key.pem }',
    "tls.key: can't be used for TLS: ",
    'ee key too small; issue a new certificate and key',
  )
})

test.each(['ca: server-ca.pem', 'serverName: a.example'])('TLS of an http resource is a fault: %s', (key) => {
  const [name] = key.split(':')
  for (const [yaml, at] of [
    [`upstream: { url: "http://a", tls: { ${key} } }`, 'upstream'],
    [`routes: [{ name: r, match: { path: /r }, upstream: { tls: { ${key} } } }]`, 'routes[0].upstream'],
    [`routes: [{ name: r, upstream: { url: "http://b", tls: { ${key} } } }]`, 'routes[0].upstream'],
  ] as const) {
    directory.expectFault(yaml, `${at}.tls.${name}: is of no effect, because http://`, 'write https')
  }
})

test('a flag that names an http resource makes the file’s TLS a fault', () => {
  const flags = { upstream: 'http://b:1' }
  expect(directory.faultsOf(https('tls: { ca: server-ca.pem }'), { flags })).toEqual([
    expect.stringContaining('upstream.tls.ca: is of no effect, because http://b:1'),
  ])
})

test('every file that was read is named, once and in full', () => {
  directory.write('credential', 'Bearer x\n')
  const { files, stamps } = directory.load(`
    tls: { cert: all-in-one.pem, key: all-in-one.pem, clientCa: clients-ca.pem }
    upstream: { url: "https://a", auth: { file: credential }, tls: { ca: ./server-ca.pem } }
    routes: [{ name: r, upstream: { tls: { cert: client-dns.pem, key: client-dns-key.pem } } }]`)
  const names = ['fencegate.yaml', 'all-in-one.pem', 'clients-ca.pem', 'credential', 'server-ca.pem']
  const expected = [...names, 'client-dns.pem', 'client-dns-key.pem'].map((name) =>
    path.join(directory.path, name),
  )
  expect([...files].sort()).toEqual(expected.sort())
  expect([...stamps.keys()]).toEqual(files)
  expect(loadConfig({ env: {}, flags: { upstream: 'http://a' } }).files).toEqual([])
})

const PAST = Date.UTC(2019, 11, 31)
const FUTURE = Date.UTC(2120, 0, 2)

test('certificates that are not valid now are a warning, each once', () => {
  const { config, warnings } = directory.load(`
    tls: { cert: chain.pem, key: server-1-key.pem, clientCa: clients-ca.pem }
    upstream: { url: "https://a", tls: { ca: server-ca.pem, cert: client-dns.pem, key: client-dns-key.pem } }
    routes: [{ name: r, upstream: { connections: 1 } }]`)
  expect(warnings).toEqual([])
  expect(warningsOf(config, FUTURE)).toEqual([
    'tls.cert: the certificate of "CN=server-1" expired at 2120-01-01T00:00:00.000Z: replace it',
    expect.stringContaining('upstream.tls.cert: the certificate of "CN=client-dns" expired'),
    expect.stringContaining('tls.clientCa: the certificate of "CN=fencegate test clients CA" expired'),
    expect.stringContaining('upstream.tls.ca: the certificate of "CN=fencegate test servers CA" expired'),
  ])
  expect(warningsOf(config, PAST)[0]).toMatch(
    /^tls\.cert: the certificate of "CN=server-1" is not valid before 2020-01-01T00:00:00\.000Z: set this/,
  )
})

test('a key that stands in the file itself is not repeated', () => {
  const key = JSON.stringify(directory.read('server-1-key.pem'))
  const [fault = ''] = directory.faultsOf(`tls: { cert: server-1.pem, key: ${key} }`)
  expect(fault).toContain(
    'tls.key: holds PEM text: write that into a file, and name a PEM file that holds it',
  )
  expect(fault).not.toContain(directory.read('server-1-key.pem').slice(30, 40))
})

test('what keys hold is never told', () => {
  const secrets = ['c2VjcmV0', 'secret']
  for (const [change] of FILES) {
    const pair = change.startsWith('key')
      ? `cert: server-1.pem, ${change}`
      : `${change}, key: server-1-key.pem`
    for (const fault of directory.faultsOf(`tls: { ${pair} }`)) {
      for (const secret of secrets) expect(fault).not.toContain(secret)
    }
  }
})
