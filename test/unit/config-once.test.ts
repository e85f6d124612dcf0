/** Routes with operations: what they default to, what must agree, and the key that kept answers are sealed with. */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeOperations, describeRoutes } from '../../src/config/describe.ts'
import { parsePointer } from '../../src/config/pointer.ts'
import { formatAge, formatSize, parseAge, parseSize } from '../../src/config/values.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
const routesOf = (keys: string) => directory.load(`routes: [{ name: r, ${keys} }]`).config.routes
const ruleOf = (keys: string) => routesOf(`guard: once, once: { ${keys} }`)[0]?.once

const DAY_MS = 86_400_000
const DEFAULTS = {
  scope: 'default',
  repeatUnknown: 'hold',
  keyLifetimeMs: DAY_MS,
  expired: 'refuse',
  finalStatuses: [400, 402, 404, 410, 422],
  keepHeaders: ['content-type', 'location', 'etag', 'request-id'],
  keepBodyBytes: 65_536,
  redact: [],
  maxBodyBytes: 1_048_576,
  providerKey: 'forward',
  retentionMs: 30 * DAY_MS,
}

test('the guard alone is enough: all else is the default, and each write has an intent', () => {
  const [route, last] = routesOf('match: { path: /r }, guard: once')
  expect(route).toMatchObject({ guard: 'once', token: 'required', once: DEFAULTS, intent: 'durable' })
  expect(ruleOf('')).toEqual(DEFAULTS)
  expect(last).toMatchObject({ guard: 'fence', token: 'required', once: undefined, intent: 'none' })
})

test('every key is read in its units', () => {
  const rule = ruleOf(
    'scope: acme.pay_2, repeatUnknown: send, keyLifetime: 90m, expired: send, finalStatuses: [303, 500], ' +
      'keepHeaders: [X-Id], keepBody: 0B, redact: [/a~1b, //c], maxBody: 64MiB, providerKey: derive, retention: 3650d',
  )
  expect(rule).toEqual({
    scope: 'acme.pay_2',
    repeatUnknown: 'send',
    keyLifetimeMs: 5_400_000,
    expired: 'send',
    finalStatuses: [303, 500],
    keepHeaders: ['x-id'],
    keepBodyBytes: 0,
    redact: ['/a~1b', '//c'],
    maxBodyBytes: 64 * 1024 ** 2,
    providerKey: 'derive',
    retentionMs: 3650 * DAY_MS,
  })
  expect(ruleOf('keyLifetime: 2d, retention: 48h')).toMatchObject({ keyLifetimeMs: 2 * DAY_MS })
  expect(routesOf('guard: once, token: optional')[0]?.token).toBe('optional')
})

const once = (keys: string) => `routes: [{ name: r, guard: once, once: { ${keys} } }]`
const route = (keys: string) => `routes: [{ name: r, ${keys} }]`

test.each<readonly [yaml: string, start: string, part: string]>([
  // Only of use together
  [route('once: {}'), 'routes[0].once: is of no effect without guard: once', 'remove the key'],
  [route('guard: none, once: { scope: a }'), 'routes[0].once: is of no effect', ''],
  [route('token: optional'), 'routes[0].token: optional would let a write through', 'choose required'],
  [route('guard: once, mode: observe'), 'routes[0].mode: observe forwards every repeat', 'guard: fence'],
  [route('guard: once, upgrades: [websocket]'), "routes[0].upgrades: can't be allowed", 'guard: fence'],
  // Keys and kinds
  [once('scopes: a'), 'routes[0].once.scopes: is not a key here', 'Did you mean scope?'],
  [route('guard: once, once:'), 'routes[0].once: is empty', 'or remove the key'],
  [route('guard: once, once: hold'), 'routes[0].once: "hold" does not fit', 'a mapping of keys'],
  [route('guard: once, token: none'), 'routes[0].token: "none" does not fit', 'one of required, optional'],
  [once('repeatUnknown: refuse'), 'routes[0].once.repeatUnknown: ', 'one of send, hold'],
  [once('expired: hold'), 'routes[0].once.expired: ', 'one of refuse, send'],
  [once('providerKey: none'), 'routes[0].once.providerKey: ', 'one of forward, derive'],
  // Values
  [once('scope: "a b"'), 'routes[0].once.scope: "a b" is not a scope', '1 to 64 letters'],
  [once('scope: ""'), 'routes[0].once.scope: "" is not a scope', ''],
  [once('keyLifetime: 1w'), 'routes[0].once.keyLifetime: "1w" is not a duration', 'ms, s, m, h or d'],
  [once('keyLifetime: 0d'), 'routes[0].once.keyLifetime: 0d is too short', 'at least 1ms'],
  [once('retention: 3651d'), 'routes[0].once.retention: 3651d is too long', 'at most 3650d'],
  [once('retention: 23h'), 'routes[0].once.retention: 23h is shorter than keyLifetime', 'write 1d or more'],
  [once('finalStatuses: [200]'), 'routes[0].once.finalStatuses[0]: 200', '2xx is always final'],
  [once('finalStatuses: [400, 400]'), 'routes[0].once.finalStatuses: the list', 'each named once'],
  [
    once('finalStatuses: [400, 504]'),
    'routes[0].once.finalStatuses: 504 is in unknownStatuses',
    'off one of',
  ],
  [once('keepHeaders: [a b]'), 'routes[0].once.keepHeaders[0]: "a b" is not the name', ''],
  [once('keepHeaders: [etag, ETag]'), 'routes[0].once.keepHeaders[1]: "ETag" is given twice', 'remove one'],
  [once('keepHeaders: [Content-Length]'), 'routes[0].once.keepHeaders[0]: "Content-Length"', 'framing'],
  [once('keepHeaders: [Idempotent-Replayed]'), 'routes[0].once.keepHeaders[0]: ', 'fencegate itself'],
  [once('keepBody: 65MiB'), 'routes[0].once.keepBody: 65MiB is out of range', '0B to 64MiB'],
  [once('maxBody: 0B'), 'routes[0].once.maxBody: 0B is out of range', '1B to 64MiB'],
  [once('redact: [card]'), 'routes[0].once.redact[0]: "card" is not a JSON pointer', 'begin it with "/"'],
  [once('redact: [/a~b]'), 'routes[0].once.redact[0]: "/a~b" has a "~"', 'write ~0'],
  [once('redact: [/a~]'), 'routes[0].once.redact[0]: "/a~" has a "~"', ''],
  [once('redact: [""]'), 'routes[0].once.redact[0]: "" is the whole body', 'keepBody: 0B'],
  // The journal
  ['journal: { maxAge: 4000d }', 'journal.maxAge: 4000d is too long', 'at most 3650d'],
  ['journal: { maxRows: 0 }', 'journal.maxRows: 0 does not fit', 'from 1 to 1000000000'],
  ['journal: { rows: 1 }', 'journal.rows: is not a key here', 'Keys here: maxAge, maxRows'],
])('%s', (yaml, start, part) => directory.expectFault(yaml, start, part))

test('all faults of a rule are told at once, and none that follows from another', () => {
  const faults = directory.faultsOf(
    once('keyLifetime: x, retention: 1ms, finalStatuses: [99, 504], redact: [a], keepBody: 1'),
  )
  expect(faults.map((line) => line.split(': ')[0])).toEqual([
    'routes[0].once.finalStatuses[0]',
    'routes[0].once.keepBody',
    'routes[0].once.keyLifetime',
    'routes[0].once.redact[0]',
  ])
})

test('ages and sizes are written as they are read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3650 * DAY_MS }), (ms) => {
      expect(parseAge(formatAge(ms))).toBe(ms)
    }),
  )
  expect([DAY_MS, DAY_MS * 30, DAY_MS * 1.5, 90_000].map(formatAge)).toEqual(['1d', '30d', '36h', '90s'])
  expect(parseSize(formatSize(0), 0, 1)).toBe(0)
})

test('every pointer of RFC 6901 is one, section 5', () => {
  const pointers = [
    '/foo',
    '/foo/0',
    '/',
    '/a~1b',
    '/c%d',
    '/e^f',
    '/g|h',
    '/i\\j',
    '/k"l',
    '/ ',
    '/m~0n',
    '/é',
  ]
  for (const pointer of pointers) expect(parsePointer(pointer)).toBe(pointer)
})

const keyIn = (content: string | Uint8Array) => {
  directory.write('operations.key', content)
  return directory.load('operations: { keyFile: ./operations.key }').config.operations.key
}

test('the key is read in base64 or hex, with or without the newline of an editor', () => {
  for (const end of ['', '\n', '\r\n']) {
    const key = randomBytes(32)
    for (const text of [key.toString('base64'), key.toString('hex'), key.toString('hex').toUpperCase()]) {
      expect(keyIn(text + end)).toEqual(key)
    }
  }
  expect(directory.load('').config.operations.key).toBeUndefined()
})

test.each([
  ['nothing', ''],
  ['too few bytes', Buffer.alloc(31, 's3').toString('base64')],
  ['too many bytes', Buffer.alloc(33, 's3').toString('base64')],
  ['a digit too few', 'c3'.repeat(32).slice(1)],
  ['raw bytes', Buffer.alloc(32, 0xc3)],
  ['two lines', `${'c3'.repeat(32)}\n${'c3'.repeat(32)}\n`],
  ['a space at its end', `${'c3'.repeat(32)} `],
])('a file with %s is refused, and nothing of it is told', (_, content) => {
  directory.write('bad.key', content)
  const yaml = 'operations: { keyFile: bad.key }'
  directory.expectFault(yaml, 'operations.keyFile: "bad.key" does not hold a key', 'openssl rand -base64 32')
  expect(directory.faultsOf(yaml).join()).not.toMatch(/c3c3|czM/)
})

test.each([
  ['the key itself', 'operations: { keyFile: c3c3c3 }', 'cannot be read (ENOENT)'],
  ['the key with a line break', 'operations: { keyFile: "c3c3\\nc3" }', 'cannot be read (not a path)'],
  ['the key as a number', 'operations: { keyFile: 333333 }', 'what it holds does not fit'],
])('%s where the name of its file belongs is not told', (_, yaml, part) => {
  directory.expectFault(yaml, 'operations.keyFile: ', part)
  expect(directory.faultsOf(yaml).join()).not.toMatch(/c3c3|3333/)
})

test('routes with operations are described in words', () => {
  keyIn('c3'.repeat(32))
  const { config } = directory.load(
    [
      'operations: { keyFile: operations.key }',
      'routes:',
      '  - { name: a, match: { path: /a }, guard: once, token: optional }',
      '  - name: b',
      '    match: { methods: [POST], path: /b }',
      '    guard: once',
      '    once: { scope: b, repeatUnknown: send, expired: send, redact: [/x, /y], providerKey: derive, keepBody: 0B }',
    ].join('\n'),
  )
  expect(describeRoutes(config).slice(0, 2)).toEqual([
    'a: every method on /a to http://127.0.0.1:9200: fenced, each operation once (GET, HEAD and OPTIONS need no ' +
      "token); the task is in fencing-task, the token in fencing-token, the operation's key in idempotency-key; " +
      'without a token a write passes by that key alone',
    'b: POST on /b to http://127.0.0.1:9200: fenced, each operation once; the task is in fencing-task, the token in ' +
      "fencing-token, the operation's key in idempotency-key",
  ])
  expect(describeOperations(config)).toEqual([
    'a: scope default, unknown ones are held, bodies up to 1MiB; provider keys (forward) live 1d, later repeats are ' +
      'refused; kept 30d, with answers up to 64KiB, encrypted',
    'b: scope b, unknown ones are sent again, bodies up to 1MiB; provider keys (derive) live 1d, later repeats are ' +
      'sent; kept 30d, with answers up to 0B less /x /y, encrypted',
  ])
  expect(describeOperations(directory.load('').config)).toEqual([])
})

test('a scope that two resources share is warned of', () => {
  const routes = [
    '{ name: a, match: { path: /a }, guard: once }',
    '{ name: b, match: { path: /b }, guard: once }',
    '{ name: c, match: { path: /c }, guard: once, once: { scope: SCOPE }, upstream: { url: "http://c" } }',
  ]
  const warningsOf = (scope: string) => {
    const yaml = `upstream: { url: "http://a" }\nroutes: [${routes.join(', ').replace('SCOPE', scope)}]`
    return directory.load(yaml).warnings
  }
  expect(warningsOf('c')).toEqual([])
  expect(warningsOf('default')).toEqual([
    expect.stringMatching(/^routes\[2\]\.once\.scope: default is that of route a too, .* operation-mismatch/),
  ])
})
