/** `clients`: names of certificates in one spelling each, and the tasks that they may write. */
import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SubjectAltName } from '../../src/config/config.ts'
import { describeClients } from '../../src/config/describe.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
const TLS = 'tls: { cert: server-1.pem, key: server-1-key.pem, clientCa: clients-ca.pem }\n'
const entry = (san: string, tasks = '["a-"]') => `[{ san: ${JSON.stringify(san)}, tasks: ${tasks} }]`
const client = (san: string, tasks = '["a-"]') => `${TLS}clients: ${entry(san, tasks)}`
const sanOf = (san: string) => directory.load(client(san)).config.clients[0]?.san

test.each<[string, SubjectAltName['kind'], string]>([
  ['spiffe://prod.example/ns/pay/sa/settler', 'URI', 'spiffe://prod.example/ns/pay/sa/settler'],
  ['https://Host.Example/Path', 'URI', 'https://Host.Example/Path'],
  ['urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'URI', 'urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6'],
  ['Settler.Pay.Example', 'DNS', 'settler.pay.example'],
  ['*.pay.example', 'DNS', '*.pay.example'],
  ['settler', 'DNS', 'settler'],
  ['Settler@Pay.Example', 'email', 'Settler@pay.example'],
  ['10.1.2.3', 'IP Address', '10.1.2.3'],
  ['2001:DB8:0:0::1', 'IP Address', '2001:db8::1'],
  ['::ffff:10.1.2.3', 'IP Address', '::ffff:a01:203'],
])('what kind of name it is follows from its form: %s', (text, kind, value) => {
  expect(sanOf(text)).toEqual({ kind, value })
})

test('every spelling of an address is one name, the one that a URL has', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
      expect(sanOf(address)).toEqual({ kind: 'IP Address', value: canonical })
      expect(sanOf(canonical)).toEqual(sanOf(address))
    }),
    { numRuns: 50 },
  )
})

test('the kinds are those that Node gives the names of a certificate', () => {
  const names = ['client-mixed', 'client-dns', 'client-settler'].flatMap((name) => {
    return new X509Certificate(directory.read(`${name}.pem`)).subjectAltName?.split(', ') ?? []
  })
  const kinds = names.map((name) => name.slice(0, name.indexOf(':')))
  const written = ['settler@pay.example', '10.1.2.3', '2001:db8::1', 'settler.pay.example', 'spiffe://a/b']
  expect(written.map((text) => sanOf(text)?.kind)).toEqual(kinds)
})

test('prefixes are as written, the empty one is every task', () => {
  const prefix = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
    maxLength: 256,
  })
  fc.assert(
    fc.property(fc.uniqueArray(prefix, { minLength: 1, maxLength: 4 }), (tasks) => {
      const { clients } = directory.load(client('a', JSON.stringify(tasks))).config
      expect(clients[0]?.tasks).toEqual(tasks)
    }),
    { numRuns: 50 },
  )
  const { config } = directory.load(client('spiffe://a/b', '["x-", y]'))
  expect(describeClients(config)).toEqual(['spiffe://a/b (URI) may write x-*, y*'])
  expect(describeClients(directory.load(client('a.b', '[x, ""]')).config)).toEqual([
    'a.b (DNS) may write every task',
  ])
})

test('none by default', () => {
  expect(directory.load('').config.clients).toEqual([])
  expect(directory.load('clients:').config.clients).toEqual([])
})

test.each([
  ['{ san: a }', 'clients: a mapping does not fit', 'a list of clients'],
  ['[{ tasks: [b] }]', 'clients[0].san: is missing', 'a URI, DNS name'],
  ['[{ san: a }]', 'clients[0].tasks: is missing', '"" is every task'],
  ['[{ san: a, tasks: [b], cn: c }]', 'clients[0].cn: is not a key here', 'san, tasks'],
  [entry('a', '[]'), 'clients[0].tasks: the list does not fit', 'at least one prefix'],
  [entry('a', '[b, b]'), 'clients[0].tasks: the list does not fit', 'each named once'],
  [entry('a', 'b'), 'clients[0].tasks: "b" does not fit', 'a list of at least one'],
  [entry('a', '["b c"]'), 'clients[0].tasks[0]: "b c" begins no task', 'visible ASCII'],
  [entry('a', '[b, "é"]'), 'clients[0].tasks[1]: "é" begins no task', ''],
  [entry('a', `[${'b'.repeat(257)}]`), 'clients[0].tasks[0]: "bbb', 'up to 256'],
  [entry(''), 'clients[0].san: "" is no subject alternative name', 'spiffe://'],
  [entry('URI:spiffe://a/b'), 'clients[0].san: "URI:spiffe://a/b" begins with "URI:"', 'behind it alone'],
  [entry('dns:a.example'), 'clients[0].san: "dns:a.example" begins with "dns:"', ''],
  [entry('IP Address:::1'), 'clients[0].san: "IP Address:::1" begins with', ''],
  [entry('CN=settler'), 'clients[0].san: "CN=settler" is no subject alternative name', ''],
  [entry('a.example:443'), 'clients[0].san: "a.example:443" is no subject', ''],
  [entry('spiffe://a/b c'), 'clients[0].san: "spiffe://a/b c" is no subject', ''],
  [entry('spiffe://'), 'clients[0].san: "spiffe://" is no subject', ''],
  [entry('a@b@c.example'), 'clients[0].san: "a@b@c.example" is no subject', ''],
  [entry('1.2.3.400'), 'clients[0].san: "1.2.3.400" is no subject', ''],
  [entry('fe80::1%eth0'), 'clients[0].san: "fe80::1%eth0" is no subject', ''],
])('%s', (clients, start, part) => directory.expectFault(`${TLS}clients: ${clients}`, start, part))

test('clients need a CA', () => {
  directory.expectFault('clients: [{ san: a, tasks: [b] }]', 'clients: needs tls.clientCa', 'remove the list')
})

test.each([
  ['spiffe://a/b', 'spiffe://a/b'],
  ['A.example', 'a.EXAMPLE'],
  ['::1', '0:0:0:0:0:0:0:1'],
  ['x@A.example', 'x@a.example'],
])('the same name twice, however it is spelt: %s', (one, two) => {
  const entries = [one, 'other', two].map((san) => `{ san: "${san}", tasks: [b] }`)
  directory.expectFault(
    `${TLS}clients: [${entries}]`,
    `clients[2].san: "${two}" is clients[0].san again`,
    'in one entry',
  )
})

test('faults of several clients are told at once; one that was refused hides none', () => {
  const faults = directory.faultsOf(`clients: [5, { san: "a b" }, { tasks: ["c d"] }]`)
  expect(faults.map((fault) => fault.slice(0, fault.indexOf(': '))).sort()).toEqual(
    [
      'clients',
      'clients[0]',
      'clients[1].san',
      'clients[1].tasks',
      'clients[2].san',
      'clients[2].tasks[0]',
    ].sort(),
  )
})

test('a clientCa with a fault of its own is the only fault', () => {
  const tls = 'tls: { cert: server-1.pem, key: server-1-key.pem, clientCa: 5 }\n'
  directory.expectFault(`${tls}clients: [{ san: a, tasks: [b] }]`, 'tls.clientCa: 5 does not fit', '')
})
