/** What a configuration becomes: defaults, units, inheritance, precedence; exact and frozen. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import tls from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { loadConfig, loadStoreConfig } from '../../src/config/load.ts'

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-config-'))
afterAll(() => fs.rmSync(directory, { recursive: true }))

const URL_LINE = 'upstream: { url: "http://127.0.0.1:9200" }\n'

function file(yaml: string, name = 'fencegate.yaml'): string {
  const full = path.join(directory, name)
  fs.writeFileSync(full, yaml)
  return full
}

const load = (yaml: string): Config => loadConfig({ file: file(yaml), env: {}, flags: {} }).config

test('one flag is enough; all else is the default', () => {
  const { config, warnings } = loadConfig({ env: {}, flags: { upstream: 'http://127.0.0.1:9200' } })
  const upstream = {
    origin: 'http://127.0.0.1:9200',
    host: 'rewrite',
    connections: 128,
    connectTimeoutMs: 5000,
    headersTimeoutMs: 30_000,
    bodyTimeoutMs: 60_000,
    keepAliveTimeoutMs: 4000,
    forwardedHeaders: false,
    via: false,
    auth: undefined,
    tls: { ca: undefined, cert: undefined, key: undefined, serverName: undefined },
  }
  expect(config).toEqual({
    listen: { host: '127.0.0.1', port: 8470 },
    admin: { listen: { host: '127.0.0.1', port: 8471 } },
    tls: undefined,
    clients: [],
    upstream,
    store: {
      path: path.resolve('data'),
      controlSocket: path.resolve('data/control.sock'),
      create: 'if-missing',
      lockWaitMs: 10_000,
      timeoutMs: 2000,
      cachedTasks: 100_000,
    },
    claim: {
      taskHeader: 'fencing-task',
      tokenHeader: 'fencing-token',
      holderHeader: 'fencing-holder',
      operationHeader: 'idempotency-key',
      maxToken: 9223372036854775807n,
      maxTokenJump: undefined,
    },
    handoverTimeoutMs: 10_000,
    drainLimitMs: 60_000,
    restartGraceMs: 30_000,
    revealHighest: true,
    limits: {
      headSizeBytes: 16_384,
      headerCount: 256,
      headTimeoutMs: 10_000,
      idleTimeoutMs: 75_000,
      bodySizeBytes: undefined,
      bodyRateBytesPerSecond: 1024,
      connections: 10_000,
      openWrites: 10_000,
      openWritesPerTask: 1000,
      waitersPerTask: 1000,
    },
    shutdown: { delayMs: 3000, deadlineMs: 25_000 },
    operations: { key: undefined },
    journal: { maxAgeMs: 90 * 86_400_000, maxRows: 1_000_000 },
    records: { hideQueryValues: false },
    log: { level: 'info' },
    reloadIntervalMs: 5000,
    routes: [
      {
        name: 'default',
        match: { methods: undefined, path: undefined },
        guard: 'fence',
        token: 'required',
        once: undefined,
        mode: 'enforce',
        handover: 'drain',
        onUnknown: 'proceed',
        intent: 'none',
        unknownStatuses: [502, 504],
        upgrades: [],
        refusalFormat: 'problem',
        upstream,
        forwardClaim: true,
        refusalHeaders: {},
      },
    ],
  })
  expect(warnings).toEqual([])
})

test('the file is read in its units, and paths start at its directory', () => {
  fs.writeFileSync(path.join(directory, 'ca.pem'), tls.rootCertificates.slice(0, 2).join('\n'))
  const config = load(`
    listen: "[::1]:80"
    admin: { listen: "localhost:0" }
    upstream: { url: HTTPS://Store.Example:443/, tls: { ca: ca.pem }, connectTimeout: 1500ms }
    store: { path: marks, create: never, lockWait: 1h }
    claim: { taskHeader: X-Job, tokenHeader: X-Epoch }
    restartGrace: 0s
    shutdown: { delay: 0s }
    limits: { headSize: 1MiB }
    log: { level: silent }`)
  expect(config.listen).toEqual({ host: '::1', port: 80 })
  expect(config.admin.listen).toEqual({ host: 'localhost', port: 0 })
  expect(config.upstream.origin).toBe('https://store.example')
  expect(config.upstream.tls.ca).toContain('BEGIN CERTIFICATE')
  expect(config.upstream.connectTimeoutMs).toBe(1500)
  expect(config.store).toMatchObject({
    path: path.join(directory, 'marks'),
    create: 'never',
    lockWaitMs: 3_600_000,
  })
  expect(config.claim).toMatchObject({ taskHeader: 'x-job', tokenHeader: 'x-epoch' })
  expect([config.restartGraceMs, config.shutdown.delayMs]).toEqual([0, 0])
  expect(config.limits.headSizeBytes).toBe(1024 * 1024)
  expect(config.log.level).toBe('silent')
})

test('a route inherits what it leaves out of the upstream', () => {
  const { routes, upstream } = load(`
    upstream: { url: "http://a:1", connections: 7, headersTimeout: 9s, via: true }
    routes:
      - name: charges
        match: { methods: [POST], path: "/charges/{task}/*" }
        upstream: { url: "https://b:2", headersTimeout: 20s }
        mode: observe
        forwardClaim: false
        refusalHeaders: { Stripe-Should-Retry: "false" }
      - name: reads
        match: { path: /search }
        guard: none`)
  expect(routes.map(({ name }) => name)).toEqual(['charges', 'reads', 'default'])
  expect(routes[0]).toEqual({
    name: 'charges',
    match: { methods: ['POST'], path: '/charges/{task}/*' },
    guard: 'fence',
    token: 'required',
    once: undefined,
    mode: 'observe',
    handover: 'drain',
    onUnknown: 'proceed',
    intent: 'none',
    unknownStatuses: [502, 504],
    upgrades: [],
    refusalFormat: 'problem',
    upstream: { ...upstream, origin: 'https://b:2', headersTimeoutMs: 20_000 },
    forwardClaim: false,
    refusalHeaders: { 'stripe-should-retry': 'false' },
  })
  expect(routes[1]).toMatchObject({ guard: 'none', mode: 'enforce', forwardClaim: true })
  expect(routes[1]?.upstream).toBe(upstream)
  expect(routes[2]?.upstream).toBe(upstream)
})

test.each([
  ['an integer beyond 2^53', '9007199254740993', 9007199254740993n],
  ['one less', '9007199254740992', 9007199254740992n],
  ['the largest', '9223372036854775807', 9223372036854775807n],
  ['a string', '"9007199254740993"', 9007199254740993n],
  ['a small integer', '1', 1n],
])('tokens are exact: %s', (_, yaml, token) => {
  const { claim } = load(`${URL_LINE}claim: { maxToken: ${yaml}, maxTokenJump: ${yaml} }`)
  expect(claim).toMatchObject({ maxToken: token, maxTokenJump: token })
})

test('what a route says of handovers and unknown outcomes; hold implies intents', () => {
  const { routes, records } = load(`
    upstream: { url: "http://a:1" }
    records: { hideQueryValues: true }
    routes:
      - { name: held, match: { path: /a }, onUnknown: hold, unknownStatuses: [202] }
      - { name: cut, match: { path: /b }, handover: abort, unknownStatuses: [] }
      - { name: intended, match: { path: /c }, intent: durable }`)
  expect(routes).toMatchObject([
    { handover: 'drain', onUnknown: 'hold', intent: 'durable', unknownStatuses: [202] },
    { handover: 'abort', onUnknown: 'proceed', intent: 'none', unknownStatuses: [] },
    { handover: 'drain', onUnknown: 'proceed', intent: 'durable', unknownStatuses: [502, 504] },
    { name: 'default', handover: 'drain', onUnknown: 'proceed', intent: 'none' },
  ])
  expect(records.hideQueryValues).toBe(true)
})

test('flags beat environment beats file', () => {
  const yaml = `
    listen: 127.0.0.1:1
    admin: { listen: "127.0.0.1:11" }
    upstream: { url: "http://file:1", connections: 5 }
    store: { path: file }`
  const env = {
    FENCEGATE_CONFIG: file(yaml),
    FENCEGATE_UPSTREAM: 'http://env:1',
    FENCEGATE_LISTEN: '127.0.0.1:2',
    FENCEGATE_DATA: 'env',
    HOME: '/nobody',
  }
  const { config } = loadConfig({ env, flags: { upstream: 'http://flag:1', data: 'flag' } })
  expect(config.upstream).toMatchObject({ origin: 'http://flag:1', connections: 5 })
  expect(config.listen.port).toBe(2)
  expect(config.admin.listen.port).toBe(11)
  // A path from a flag or the environment starts where the command runs.
  expect(config.store.path).toBe(path.resolve('flag'))
  expect(loadConfig({ env, flags: {} }).config.store.path).toBe(path.resolve('env'))
})

test('--config beats FENCEGATE_CONFIG', () => {
  const env = { FENCEGATE_CONFIG: file('upstream: { url: "http://env:1" }', 'env.yaml') }
  const flagged = file('upstream: { url: "http://flag:1" }', 'flag.yaml')
  expect(loadConfig({ env, flags: {} }).config.upstream.origin).toBe('http://env:1')
  expect(loadConfig({ file: flagged, env, flags: {} }).config.upstream.origin).toBe('http://flag:1')
})

test('a flag changes the upstream alone, not a route that shares its mapping by an alias', () => {
  const yaml =
    'upstream: &u { url: "http://file:1" }\nroutes: [{ name: r, match: { path: /r }, upstream: *u }]'
  const { config } = loadConfig({ file: file(yaml), env: {}, flags: { upstream: 'http://flag:1' } })
  expect(config.routes.map(({ upstream }) => upstream.origin)).toEqual(['http://file:1', 'http://flag:1'])
})

test('an empty file, and sections with every key commented out, are as good as left out', () => {
  const flags = { upstream: 'http://a:1' }
  const empty = loadConfig({ file: file('# nothing\n'), env: {}, flags }).config
  const sections = 'limits:\n  # headSize: 1KiB\nroutes:\n'
  expect(loadConfig({ file: file(sections), env: {}, flags }).config).toEqual(empty)
})

test('variables that Kubernetes sets for a Service named fencegate are not ours', () => {
  const env = {
    FENCEGATE_SERVICE_HOST: '10.0.0.1',
    FENCEGATE_SERVICE_PORT: '8470',
    FENCEGATE_SERVICE_PORT_DATA: '8470',
    FENCEGATE_PORT: 'tcp://10.0.0.1:8470',
    FENCEGATE_PORT_8470_TCP: 'tcp://10.0.0.1:8470',
    FENCEGATE_PORT_8470_TCP_PROTO: 'tcp',
    FENCEGATE_ADMIN_SERVICE_HOST: '10.0.0.2',
    FENCEGATE_ADMIN_PORT: 'tcp://10.0.0.2:8471',
  }
  expect(loadConfig({ env, flags: { upstream: 'http://a:1' } }).config.listen.port).toBe(8470)
})

test('the configuration is frozen to its leaves', () => {
  const config = load(`${URL_LINE}routes: [{ name: r, match: { methods: [PUT] }, refusalHeaders: { a: b } }]`)
  const open: string[] = []
  const visit = (value: unknown, at: string) => {
    if (typeof value !== 'object' || value === null) return
    if (!Object.isFrozen(value)) open.push(at)
    for (const [key, part] of Object.entries(value)) visit(part, `${at}.${key}`)
  }
  visit(config, 'config')
  expect(open).toEqual([])
  expect(config.routes[0]?.refusalHeaders).toEqual({ a: 'b' })
})

test.each([
  ['shorter than the upstream’s', 'restartGrace: 10s', ['upstream.headersTimeout (30s)']],
  ['as long', 'restartGrace: 30s', []],
  [
    'shorter than a route’s',
    'routes: [{ name: r, match: { path: /r }, upstream: { headersTimeout: 2m } }]',
    ['routes[0].upstream.headersTimeout (2m)'],
  ],
])('a warning if restartGrace is shorter than a headersTimeout: %s', (_, yaml, expected) => {
  const { warnings } = loadConfig({ file: file(`${URL_LINE}${yaml}`), env: {}, flags: {} })
  expect(warnings).toHaveLength(expected.length)
  for (const [index, part] of expected.entries()) expect(warnings[index]).toContain(part)
})

test('the store’s part needs no upstream', () => {
  const store = loadStoreConfig({ file: file('store: { path: d, lockWait: 3s }'), env: {}, flags: {} })
  expect(store).toMatchObject({ path: path.join(directory, 'd'), lockWaitMs: 3000 })
})
