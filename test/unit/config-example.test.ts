/** The example file: it loads, it has every key of the schema, and the defaults that it shows are the defaults. */
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { configSchema } from '../../src/config/schema.ts'
import {
  complete,
  EXAMPLE,
  keysOf,
  type Schema,
  shownKeys,
  shownKeysAsIs,
  text,
} from '../support/config-example.ts'
import { ConfigDirectory } from '../support/config-file.ts'

/** What the example's files are, among those of `test/support/tls`. */
const FILES = {
  'server.pem': 'server-1.pem',
  'server-key.pem': 'server-1-key.pem',
  'resource-ca.pem': 'server-ca.pem',
  'sidecar.pem': 'client-dns.pem',
  'sidecar-key.pem': 'client-dns-key.pem',
}
const directory = new ConfigDirectory()
for (const [name, fixture] of Object.entries(FILES)) directory.write(name, directory.read(fixture))
directory.write('credential', 'Bearer x\n')
directory.write('operations.key', `${'k'.repeat(43)}=\n`)
directory.write('admin.tokens', `ana ${'t'.repeat(32)}\n`)

test('the example loads as it is, and with every key set', () => {
  const { config, warnings } = loadConfig({ file: EXAMPLE, env: {}, flags: {} })
  expect(warnings).toEqual([])
  expect(config.routes.map(({ name }) => name)).toEqual(['settlements', 'search', 'default'])
  // Certificates towards the resource are for https alone.
  const full = directory.load(complete, { flags: { upstream: 'https://127.0.0.1:9200' } }).config
  expect(full.claim.maxTokenJump).toBe(1_000_000n)
  expect(full.tls?.clientCa).toContain('BEGIN CERTIFICATE')
  expect(full.clients).toEqual([
    { san: { kind: 'URI', value: 'spiffe://prod.example/ns/pay/sa/settler' }, tasks: ['settlement-'] },
  ])
  expect(full.upstream.auth).toEqual({ header: 'authorization', value: 'Bearer x' })
  expect(full.upstream.tls).toMatchObject({
    ca: expect.stringContaining('BEGIN CERTIFICATE'),
    cert: expect.stringContaining('BEGIN CERTIFICATE'),
    serverName: 'ledger.example',
  })
  expect(full.operations.key).toHaveLength(32)
  expect(full.admin.tokens?.named.map(({ name }) => name)).toEqual(['ana'])
  expect(full.limits.bodySizeBytes).toBe(100 * 1024 ** 2)
})

test('without its routes the example is what one gets from --upstream alone', () => {
  const noRoutes = text.slice(0, text.indexOf('\nroutes:'))
  const { config } = directory.load(noRoutes, { flags: { data: directory.path } })
  const flags = { upstream: config.upstream.origin, data: directory.path }
  expect(config).toEqual(loadConfig({ env: {}, flags }).config)
})

test('every key of the schema is there', () => {
  const missing = keysOf(configSchema as Schema).filter((key) => !shownKeys.has(key))
  expect(missing).toEqual([])
})

test('every key is commented, and the default in the comment is the default', () => {
  for (const [keyPath, { schema, comment }] of shownKeys) {
    if (schema.type === 'object' || keyPath.startsWith('routes[].upstream.')) continue
    const named = /Default: (\S+)\.$/m.exec(comment)?.[1]
    if (schema.default === undefined) {
      expect(comment, keyPath).toMatch(/Required\.$|Default: (unset|every)/m)
    } else if (schema.type !== 'array') {
      expect(named, keyPath).toBe(String(schema.default))
    }
  }
})

test('outside routes, every value shown is the default, unless there is none', () => {
  const values = [...shownKeys].filter(
    ([key, { schema }]) => !key.startsWith('routes') && schema.type !== 'object',
  )
  const differing = values
    .filter(([, { schema, value }]) => String(schema.default) !== String(value))
    .map(([key]) => key)
  const [unset, set] = [true, false].map((isUnset) =>
    differing.filter((key) => isUnset === !shownKeysAsIs.has(key)),
  )
  expect(set).toEqual(['upstream.url'])
  expect(unset).toContain('claim.maxTokenJump')
  expect(values.length).toBeGreaterThan(45)
})
