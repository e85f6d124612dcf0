/** Which keys of a new configuration need a restart: each key of the schema is on one side, and none is forgotten. */
import { expect, test } from 'vitest'
import { reloaded } from '../../src/config/reload.ts'
import { configSchema } from '../../src/config/schema.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
directory.write('operations.key', 'c'.repeat(64))
const configOf = (yaml: string) => directory.load(yaml).config

/** Key path: another value than the default. */
const RESTART: Readonly<Record<string, string>> = {
  listen: 'listen: 127.0.0.1:1',
  'admin.listen': 'admin: { listen: 127.0.0.1:1 }',
  'store.path': 'store: { path: elsewhere }',
  'store.create': 'store: { create: never }',
  'store.lockWait': 'store: { lockWait: 1s }',
  'store.timeout': 'store: { timeout: 1s }',
  'store.cachedTasks': 'store: { cachedTasks: 1 }',
  'claim.taskHeader': 'claim: { taskHeader: x }',
  'claim.tokenHeader': 'claim: { tokenHeader: x }',
  'claim.holderHeader': 'claim: { holderHeader: x }',
  'claim.operationHeader': 'claim: { operationHeader: x }',
  'claim.maxToken': 'claim: { maxToken: 9223372036854775806 }',
  'claim.maxTokenJump': 'claim: { maxTokenJump: 1 }',
  handoverTimeout: 'handoverTimeout: 1s',
  drainLimit: 'drainLimit: 1s',
  restartGrace: 'restartGrace: 1s',
  'limits.headSize': 'limits: { headSize: 1KiB }',
  'limits.headerCount': 'limits: { headerCount: 16 }',
  'limits.headTimeout': 'limits: { headTimeout: 1s }',
  'limits.idleTimeout': 'limits: { idleTimeout: 1s }',
  'limits.bodySize': 'limits: { bodySize: 1KiB }',
  'limits.bodyRate': 'limits: { bodyRate: 1B }',
  'limits.connections': 'limits: { connections: 1 }',
  'limits.openWrites': 'limits: { openWrites: 1 }',
  'limits.openWritesPerTask': 'limits: { openWritesPerTask: 1 }',
  'limits.waitersPerTask': 'limits: { waitersPerTask: 1 }',
  'shutdown.delay': 'shutdown: { delay: 1s }',
  'shutdown.deadline': 'shutdown: { deadline: 1s }',
  'operations.keyFile': 'operations: { keyFile: operations.key }',
  'journal.maxAge': 'journal: { maxAge: 1d }',
  'journal.maxRows': 'journal: { maxRows: 1 }',
  'log.level': 'log: { level: warn }',
  reloadInterval: 'reloadInterval: 1s',
}

test.each(Object.entries(RESTART))('%s needs a restart, to be set and to be unset', (keyPath, yaml) => {
  expect(reloaded(configOf(''), configOf(yaml))).toEqual([keyPath])
  expect(reloaded(configOf(yaml), configOf(''))).toEqual([keyPath])
  expect(reloaded(configOf(yaml), configOf(yaml))).toEqual([])
})

test('every other key of the schema is one of those that reload, or of tls', () => {
  const others = Object.entries(configSchema.properties as Readonly<Record<string, { properties?: object }>>)
    .flatMap(([name, { properties }]) => {
      return properties && name !== 'upstream'
        ? Object.keys(properties).map((key) => `${name}.${key}`)
        : [name]
    })
    .filter((keyPath) => !(keyPath in RESTART))
  expect(others.sort()).toEqual(
    [
      'admin.tokenFile',
      ...['tls.cert', 'tls.key', 'tls.clientCa', 'tls.clientCertificate'],
      ...['clients', 'upstream', 'routes', 'revealHighest', 'records.hideQueryValues'],
    ].sort(),
  )
})

const TLS = 'tls: { cert: server-1.pem, key: server-1-key.pem }'
const ASKING = 'tls: { cert: server-1.pem, key: server-1-key.pem, clientCa: clients-ca.pem }'
const clients = (task: string) => `${ASKING}\nclients: [{ san: a, tasks: [${task}] }]`

test.each([
  ['upstream', 'upstream: { url: "http://b", connections: 3, headersTimeout: 1s }', ''],
  ['routes', 'routes: [{ name: r, match: { path: /r }, upgrades: [websocket] }]', ''],
  ['revealHighest', 'revealHighest: false', ''],
  ['records', 'records: { hideQueryValues: true }', ''],
  ['certificates', 'tls: { cert: server-2.pem, key: server-2-key.pem }', TLS],
  ['the CAs of clients', ASKING.replace('clients-ca', 'server-ca'), ASKING],
  ['clients', clients('a'), clients('b')],
  ['what is of no effect', TLS.replace('}', ', clientCertificate: optional }'), TLS],
])('%s can change', (_, one, other) => {
  const [a, b] = [configOf(one), configOf(other)]
  expect(a).not.toEqual(b)
  expect([reloaded(a, b), reloaded(b, a)]).toEqual([[], []])
})

test.each([
  ['tls.cert', '', TLS],
  ['tls.clientCa', TLS, ASKING],
  ['tls.clientCertificate', ASKING, ASKING.replace('}', ', clientCertificate: optional }')],
])('%s is fixed when the port is made', (keyPath, one, other) => {
  const [a, b] = [configOf(one), configOf(other)]
  expect([reloaded(a, b), reloaded(b, a)]).toEqual([[keyPath], [keyPath]])
})

test('all of them are told at once', () => {
  const next = configOf(
    `${TLS}\nlisten: 127.0.0.1:1\nlimits: { connections: 1, openWrites: 1 }\nrevealHighest: false`,
  )
  expect(reloaded(configOf(''), next)).toEqual([
    'listen',
    'tls.cert',
    'limits.connections',
    'limits.openWrites',
  ])
})
