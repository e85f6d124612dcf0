/** The example file: it loads, it has every key of the schema, and the defaults that it shows are the defaults. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { isMap, isPair, isScalar, isSeq, type Pair, parseDocument } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { configSchema } from '../../src/config/schema.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const EXAMPLE = path.join(import.meta.dirname, '../../config/fencegate.example.yaml')
const text = fs.readFileSync(EXAMPLE, 'utf8')
/** With the keys that have no default set as well: they stand behind a bare "#", and what is in them as far in. */
const start = text.indexOf('\nlisten:')
const complete = text.slice(0, start) + text.slice(start).replace(/^( *)#(?=\S| {2})/gm, '$1')

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

interface Schema {
  readonly type?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

interface Key {
  readonly schema: Schema
  /** What the file shows, as the schema would have it. */
  readonly value: unknown
  readonly comment: string
}

/** The keys that a mapping shows, and those within it, by key path. */
function keysShown(node: unknown, schema: Schema, at = '', found = new Map<string, Key>()): Map<string, Key> {
  if (isSeq(node) && isMap(node.items[0]) && schema.items) {
    // The first item is the one that shows every key.
    const [first] = node.items
    first.commentBefore ??= node.commentBefore ?? null
    return keysShown(first, schema.items, `${at}[]`, found)
  }
  if (!isMap(node) || !schema.properties) return found
  for (const [index, pair] of (node.items as Pair[]).entries()) {
    if (!isPair(pair) || !isScalar(pair.key)) throw new Error(`${at} has a key that is no word`)
    const name = String(pair.key.value)
    const keyPath = at === '' ? name : `${at}.${name}`
    const own = schema.properties[name]
    if (!own) throw new Error(`${keyPath} is not in the schema`)
    const value = isScalar(pair.value) ? pair.value.value : undefined
    // The comment before a mapping's first key belongs to the mapping.
    const comment = pair.key.commentBefore ?? (index === 0 ? node.commentBefore : undefined) ?? ''
    found.set(keyPath, { schema: own, value: typeof value === 'bigint' ? String(value) : value, comment })
    keysShown(pair.value, own, keyPath, found)
  }
  return found
}

function keysOf(schema: Schema, at = ''): string[] {
  if (schema.items?.properties) return keysOf(schema.items, `${at}[]`)
  return Object.entries(schema.properties ?? {}).flatMap(([name, own]) => {
    const keyPath = at === '' ? name : `${at}.${name}`
    // A route's upstream has the keys of the file's; the example says so instead of repeating them.
    return keyPath === 'routes[].upstream' ? [keyPath] : [keyPath, ...keysOf(own, keyPath)]
  })
}

const document = parseDocument(complete, { intAsBigInt: true })
const shownKeys = keysShown(document.contents, configSchema as Schema)
/** Without taking any "#" away. */
const shownKeysAsIs = keysShown(parseDocument(text).contents, configSchema as Schema)

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
