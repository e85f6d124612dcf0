/** Every kind of fault: which key is named, what is said, and that all are told at once. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { type ConfigSources, loadConfig, loadStoreConfig } from '../../src/config/load.ts'
import { ConfigDirectory, faultsIn } from '../support/config-file.ts'

const directory = new ConfigDirectory()
const { file } = directory
const faultsOf = (yaml: string, sources: Partial<ConfigSources> = {}) => directory.faultsOf(yaml, sources)

const route = (keys: string) => `routes: [{ name: r, ${keys} }]`

/** A file, the start of the one fault in it, and a part of what is said. */
const FAULTS: readonly (readonly [yaml: string, start: string, part: string])[] = [
  // Unknown keys, everywhere
  ['lisen: 127.0.0.1:1', 'lisen: is not a key here', 'Did you mean listen? Keys here: listen, admin,'],
  ['handover: abort', 'handover: is not a key here', 'handoverTimeout'],
  ['admin: { token: x }', 'admin.token: is not a key here', 'Keys here: listen'],
  ['upstream: { url: "http://a", token: x }', 'upstream.token: is not a key here', 'Keys here: url, host'],
  ['upstream: { url: "http://a", tls: { verify: false } }', 'upstream.tls.verify: is not a key here', 'ca'],
  [route('onLost: hold'), 'routes[0].onLost: is not a key here', 'refusalHeaders'],
  [route('match: { paths: /a }'), 'routes[0].match.paths: is not a key here', 'Did you mean path?'],
  [route('upstream: { Connections: 1 }'), 'routes[0].upstream.Connections: ', 'Did you mean connections?'],
  ['__proto__: { a: 1 }', '__proto__: is not a key here', ''],
  ['"a\\nb": 1', '["a\\nb"]: is not a key here', ''],
  // Kinds
  ['listen: 8470', 'listen: 8470 does not fit', 'write an address HOST:PORT'],
  ['limits: 16KiB', 'limits: "16KiB" does not fit', 'a mapping of keys'],
  ['revealHighest: yes', 'revealHighest: "yes" does not fit', 'true or false'],
  ['handoverTimeout: 10', 'handoverTimeout: 10 does not fit', 'a duration such as'],
  ['handoverTimeout:', 'handoverTimeout: is empty', 'or remove the key'],
  ['log: { level: trace }', 'log.level: "trace" does not fit', 'one of debug, info, warn, error, silent'],
  [route('guard: twice'), 'routes[0].guard: "twice" does not fit', 'one of none, fence, once'],
  [route('mode: shadow'), 'routes[0].mode: "shadow" does not fit', 'one of enforce, observe'],
  ['store: { create: always }', 'store.create: "always" does not fit', 'one of if-missing, never'],
  ['routes: {}', 'routes: a mapping does not fit', 'a list of routes'],
  ['routes: [x]', 'routes[0]: "x" does not fit', 'a mapping of keys'],
  [route('refusalHeaders: { a: false }'), 'routes[0].refusalHeaders.a: false does not fit', 'in quotes'],
  // Numbers
  ['store: { cachedTasks: 0 }', 'store.cachedTasks: 0 does not fit', 'from 1 to 10000000'],
  ['store: { cachedTasks: 1.5 }', 'store.cachedTasks: 1.5 does not fit', 'a whole number'],
  ['upstream: { url: "http://a", connections: 10001 }', 'upstream.connections: 10001', 'from 1 to 10000'],
  ['upstream: { url: "http://a", connections: .inf }', 'upstream.connections: Infinity', 'from 1 to 10000'],
  // Durations and sizes
  ['drainLimit: 1d', 'drainLimit: "1d" is not a duration', 'ms, s, m or h'],
  ['drainLimit: 1.5s', 'drainLimit: "1.5s" is not a duration', 'a whole number'],
  ['drainLimit: -1s', 'drainLimit: "-1s" is not a duration', ''],
  ['drainLimit: 0s', 'drainLimit: 0s is too short', 'at least 1ms'],
  ['shutdown: { deadline: 0ms }', 'shutdown.deadline: 0ms is too short', ''],
  ['drainLimit: 25h', 'drainLimit: 25h is too long', 'at most 24h'],
  ['drainLimit: 999999999h', 'drainLimit: 999999999h is too long', ''],
  ['limits: { headSize: 16KB }', 'limits.headSize: "16KB" is not a size', 'B, KiB, MiB or GiB'],
  ['limits: { headSize: 511B }', 'limits.headSize: 511B is out of range', '512B to 1MiB'],
  ['limits: { headSize: 2MiB }', 'limits.headSize: 2MiB is out of range', '512B to 1MiB'],
  // Tokens
  ['claim: { maxToken: 0 }', 'claim.maxToken: "0" is not a token', '1 to 9223372036854775807'],
  ['claim: { maxToken: -5 }', 'claim.maxToken: "-5" is not a token', ''],
  ['claim: { maxToken: 9223372036854775808 }', 'claim.maxToken: "9223372036854775808" is not a token', ''],
  ['claim: { maxToken: "09" }', 'claim.maxToken: "09" is not a token', 'leading zero'],
  ['claim: { maxToken: 1e3 }', 'claim.maxToken: 1000 does not fit', 'without point or exponent'],
  ['claim: { maxTokenJump: 1.0 }', 'claim.maxTokenJump: 1 does not fit', 'without point or exponent'],
  ['claim: { maxTokenJump: 0 }', 'claim.maxTokenJump: "0" is not a token', ''],
  // Addresses
  ['listen: ":8470"', 'listen: ":8470" names no host', '0.0.0.0:8470'],
  ['listen: "127.0.0.1"', 'listen: "127.0.0.1" is not an address', '127.0.0.1:8470'],
  ['listen: "::1:80"', 'listen: "::1:80" is not an address', 'in brackets'],
  ['listen: "[127.0.0.1]:80"', 'listen: "[127.0.0.1]:80" is not an address', ''],
  ['listen: "1.2.3.400:80"', 'listen: "1.2.3.400:80" is not an address', ''],
  ['listen: "http://a:80"', 'listen: "http://a:80" is not an address', ''],
  ['listen: "a:65536"', 'listen: "a:65536" has no such port', '0 to 65535'],
  [
    'listen: 127.0.0.1:9\nadmin: { listen: "127.0.0.1:9" }',
    'admin.listen: 127.0.0.1:9 is the data',
    'its own port',
  ],
  ['listen: 0.0.0.0:9\nadmin: { listen: "127.0.0.1:9" }', 'admin.listen: 127.0.0.1:9 is the data', ''],
  // The upstream
  ['upstream: {}', 'upstream.url: is missing', '--upstream'],
  [
    'upstream: { url: "127.0.0.1:9200" }',
    'upstream.url: "127.0.0.1:9200" is not a URL',
    'http://127.0.0.1:9200',
  ],
  ['upstream: { url: "localhost:9200" }', 'upstream.url: "localhost:9200" is neither http nor https', ''],
  ['upstream: { url: "ftp://a" }', 'upstream.url: "ftp://a" is neither http nor https', ''],
  ['upstream: { url: "http://a/base" }', 'upstream.url: "http://a/base" has a path', 'byte for byte'],
  [
    'upstream: { url: "http://a/?q" }',
    'upstream.url: "http://a/?q" has a path, a query',
    'write http://a alone',
  ],
  ['upstream: { url: "http://a?" }', 'upstream.url: "http://a?" has a path, a query', ''],
  ['upstream: { url: "http://a#f" }', 'upstream.url: "http://a#f" has a path, a query', ''],
  ['upstream: { url: "http:a" }', 'upstream.url: "http:a" has a path', ''],
  ['upstream: { url: "http://a:0" }', 'upstream.url: "http://a:0" has no such port', '1 to 65535'],
  ['upstream: { url: "http://a:99999" }', 'upstream.url: "http://a:99999" is not a URL', ''],
  [
    'upstream: { url: "http://127.0.0.1:8470" }',
    'upstream.url: http://127.0.0.1:8470 is fencegate',
    'the resource',
  ],
  ['upstream: { url: "http://localhost:8470" }', 'upstream.url: http://localhost:8470 is fencegate', ''],
  [
    route('match: { path: /a }, upstream: { url: "http://a/b" }'),
    'routes[0].upstream.url: ',
    'byte for byte',
  ],
  [
    route('match: { path: /a }, upstream: { url: "http://127.0.0.1:8470" }'),
    'routes[0].upstream.url: ',
    'own data port',
  ],
  [
    route('match: { path: /a }, upstream: { bodyTimeout: 0s }'),
    'routes[0].upstream.bodyTimeout: 0s',
    'at least 1ms',
  ],
  ['upstream: { url: "https://a", tls: { ca: none.pem } }', 'upstream.tls.ca: cannot be read', 'PEM file'],
  [
    'upstream: { url: "https://a", tls: { ca: fencegate.yaml } }',
    'upstream.tls.ca: ',
    'holds no certificate',
  ],
  ['upstream: { url: "https://a", tls: { ca: . } }', 'upstream.tls.ca: cannot be read', 'EISDIR'],
  // The store
  ['store: { path: "" }', 'store.path: "" is not a path', './data'],
  ['store: { path: "a\\0b" }', 'store.path: "a\\u0000b" is not a path', 'control characters'],
  // The claim's headers
  ['claim: { taskHeader: "a b" }', 'claim.taskHeader: "a b" is not the name of a header', 'Fencing-Token'],
  ['claim: { taskHeader: "" }', 'claim.taskHeader: "" is not the name of a header', ''],
  [
    'claim: { tokenHeader: Content-Length }',
    'claim.tokenHeader: "Content-Length" has a meaning of its own',
    '',
  ],
  ['claim: { tokenHeader: Host }', 'claim.tokenHeader: "Host" has a meaning of its own', ''],
  ['claim: { tokenHeader: FENCING-TASK }', 'claim.tokenHeader: ', "can't be told from claim.taskHeader"],
  ['claim: { holderHeader: fencing_token }', 'claim.holderHeader: ', "can't be told from claim.tokenHeader"],
  ['claim: { operationHeader: fencing_token }', 'claim.operationHeader: ', 'told from claim.tokenHeader'],
  // Routes: names
  ['routes: [{}]', 'routes[0].name: is missing', 'metrics and logs'],
  ['routes: [{ name: "a b" }]', 'routes[0].name: "a b" is not a route\'s name', '1 to 64'],
  [`routes: [{ name: ${'a'.repeat(65)} }]`, 'routes[0].name: "aaa', '1 to 64'],
  ['routes: [{ name: default }]', 'routes[0].name: "default" is the last route\'s', 'another name'],
  ['routes: [{ name: a, match: { path: /a } }, { name: a }]', 'routes[1].name: "a" is taken', 'its own name'],
  // Routes: methods
  [route('match: { methods: [] }'), 'routes[0].match.methods: the list does not fit', 'at least one'],
  [route('match: { methods: [PUT, PUT] }'), 'routes[0].match.methods: the list does not fit', 'named once'],
  [
    route('match: { methods: [put] }'),
    'routes[0].match.methods[0]: "put" would match nothing',
    'case-sensitive, write PUT',
  ],
  [route('match: { methods: ["P T"] }'), 'routes[0].match.methods[0]: "P T" is not an HTTP method', ''],
  [route('match: { methods: [""] }'), 'routes[0].match.methods[0]: "" is not an HTTP method', ''],
  [route('match: { methods: [1] }'), 'routes[0].match.methods[0]: 1 does not fit', 'an HTTP method'],
  [route('match: { methods: }'), 'routes[0].match.methods: is empty', ''],
  // Routes: paths
  ...(
    [
      ['a/b', 'begin it with "/"'],
      ['', 'begin it with "/"'],
      ['/a//b', 'an empty segment'],
      ['//a', 'an empty segment'],
      ['/a/./b', 'the segment "."'],
      ['/a/..', 'the segment ".."'],
      ['/a%2Fb', 'a percent sign'],
      ['/a/*/b', 'a * that is not its last segment'],
      ['/a/b*', 'a * that is not its last segment'],
      ['/a/{id}', '{task}, as a whole segment'],
      ['/a/x{task}', '{task}, as a whole segment'],
      ['/{task}/{task}', '{task} twice'],
      ['/a?b', 'a query or a fragment'],
      ['/a#b', 'a query or a fragment'],
      ['/a b', 'no path can hold'],
      ['/é', 'no path can hold'],
    ] as const
  ).map(
    ([template, part]) => [route(`match: { path: "${template}" }`), 'routes[0].match.path: ', part] as const,
  ),
  // Routes: handovers and unknown outcomes
  [route('handover: abort, onUnknown: hold'), 'routes[0].handover: abort cuts', 'abort with proceed'],
  [route('unknownStatuses: [199]'), 'routes[0].unknownStatuses[0]: 199 does not fit', '200 to 599'],
  [route('unknownStatuses: [502, 502]'), 'routes[0].unknownStatuses: the list', 'each named once'],
  // Routes: never reached
  ['routes: [{ name: a }, { name: b, guard: none }]', 'routes[1]: never matches', 'route "a"'],
  [
    'routes: [{ name: a, match: { path: "/j/*" } }, { name: b, match: { methods: [PUT], path: "/j/{task}" } }]',
    'routes[1]: never matches',
    'move it up',
  ],
  // Refusal headers
  ...['Connection', 'content-length', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'].map(
    (name) =>
      [
        route(`refusalHeaders: { ${name}: a }`),
        `routes[0].refusalHeaders.${name}: `,
        'framing: remove it',
      ] as const,
  ),
  ...['Content-Type', 'proxy-status', 'retry-after'].map(
    (name) =>
      [
        route(`refusalHeaders: { ${name}: a }`),
        `routes[0].refusalHeaders.${name}: `,
        'by fencegate itself',
      ] as const,
  ),
  [route('refusalHeaders: { "a b": c }'), 'routes[0].refusalHeaders["a b"]: ', 'not the name of a header'],
  [
    route('refusalHeaders: { a: "b\\r\\nc: d" }'),
    'routes[0].refusalHeaders.a: "b\\r\\nc: d" is not',
    'line breaks',
  ],
  [route('refusalHeaders: { a: " b" }'), 'routes[0].refusalHeaders.a: " b" is not', 'space at either end'],
  [
    route('refusalHeaders: { a: b, A: b }'),
    'routes[0].refusalHeaders.A: is given twice',
    'in different case',
  ],
]

test.each(FAULTS)('%s', (yaml, start, part) => directory.expectFault(yaml, start, part))

test.each([
  ['a list', '- 1', 'the file: holds a list'],
  ['text', 'hello', 'the file: holds "hello"'],
])('a file that holds %s', (_, yaml, fault) => {
  fs.writeFileSync(file, yaml)
  const faults = faultsIn(() => loadConfig({ file, env: {}, flags: { upstream: 'http://a' } }))
  expect(faults).toHaveLength(1)
  expect(faults[0]).toContain(fault)
})

test.each([
  [
    'a key given twice',
    'log: { level: info }\nlog: { level: warn }\n',
    'line 3, column 1',
    'the key log is given twice',
  ],
  ['an open bracket', 'routes: [\n', 'line 3, column 1', 'not valid YAML'],
  ['a tab', 'log:\n\tlevel: info', 'line 3, column 1', 'not valid YAML'],
  ['two documents', 'log: { level: info }\n---\n{}', 'line 3, column 1', 'not valid YAML'],
  ['a tag', 'listen: !secret x', 'line 2, column 9', 'not valid YAML: Unresolved tag'],
  ['a key that is no word', '? [a]\n: 1', 'line 2, column 3', 'not a plain word'],
])('YAML faults give line and column: %s', (_, yaml, at, part) => {
  const fault = faultsOf(yaml).find((line) => line.includes(at))
  expect(fault).toContain(`${file}, ${at}: `)
  expect(fault).toContain(part)
})

test('an alias without an anchor', () => {
  expect(faultsOf('admin: *nowhere')).toEqual([expect.stringContaining('define the anchor before the alias')])
})

test.each([
  ['missing', 'none.yaml', 'ENOENT'],
  ['a directory', '.', 'EISDIR'],
])('a file that is %s, without guesses at what is in it', (_, name, code) => {
  const missing = path.join(directory.path, name)
  const faults = faultsIn(() => loadConfig({ file: missing, env: {}, flags: { listen: 'x' } }))
  expect(faults).toHaveLength(2)
  expect(faults[0]).toMatch(new RegExp(`cannot be read: ${code}`))
  expect(faults[1]).toContain('listen (flag --listen): "x"')
})

test('a fault in a flag or a variable names it', () => {
  const env = { FENCEGATE_LISTEN: 'env', FENCEGATE_ADMIN: 'env', FENCEGATE_DATA: '' }
  expect(faultsOf('', { env, flags: { listen: 'flag', upstream: 'nowhere' } })).toEqual([
    expect.stringContaining('upstream.url (flag --upstream): "nowhere" is not a URL'),
    expect.stringContaining('listen (flag --listen): "flag" is not an address'),
    expect.stringContaining('admin.listen (FENCEGATE_ADMIN): "env" is not an address'),
    expect.stringContaining('store.path (FENCEGATE_DATA): "" is not a path'),
  ])
})

test.each([
  ['FENCEGATE_UPSTREAN', 'Did you mean FENCEGATE_UPSTREAM?'],
  ['FENCEGATE_TOKEN', 'Variables: FENCEGATE_CONFIG'],
  ['FENCEGATE_PORT', 'Variables: FENCEGATE_CONFIG'],
])('an unknown variable is a fault: %s', (name, part) => {
  const faults = faultsOf('', { env: { [name]: '8470' } })
  expect(faults).toHaveLength(1)
  expect(faults[0]).toContain(`${name}: is not a variable of fencegate.`)
  expect(faults[0]).toContain(part)
})

test('credentials in a URL are not repeated', () => {
  for (const url of ['http://user:pa55word@host', 'http://user:pa55/word@host', 'ftp://:pa55word@host/x']) {
    const faults = faultsOf(`upstream: { url: "${url}" }`)
    expect(faults).toEqual([expect.stringContaining('upstream.url: holds "@"')])
    expect(faults[0]).not.toContain('pa55')
  }
})

test('every fault is told at once: of syntax, kind, value, agreement and files', () => {
  const faults = faultsOf(
    `
listen: nowhere
upstream: { tls: { ca: none.pem }, connections: many }
log: { level: loud }
store: nope
claim: { tokenHeader: fencing-task }
routes:
  - { name: a b, match: { methods: [put, 5], path: a } }
  - 5
  - { name: x, upstream: { url: "http://a/b", tls: { ca: 5 } } }
  - { name: x, unknown: 1 }
log: { level: loud }
`,
    { env: { FENCEGATE_X: '1' } },
  )
  const keyPaths = faults.map((fault) => fault.slice(0, fault.indexOf(': ')))
  expect(keyPaths.sort()).toEqual(
    [
      'FENCEGATE_X',
      `${file}, line 12, column 1`,
      'listen',
      'upstream.url',
      'upstream.tls.ca',
      'upstream.connections',
      'log.level',
      'store',
      'claim.tokenHeader',
      'routes[0].name',
      'routes[0].match.methods[0]',
      'routes[0].match.methods[1]',
      'routes[0].match.path',
      'routes[1]',
      'routes[2].upstream.url',
      'routes[2].upstream.tls.ca',
      'routes[3].name',
      'routes[3].unknown',
      'routes[3]',
    ].sort(),
  )
})

test('a route whose match is faulty hides none behind it', () => {
  const faults = faultsOf('routes: [{ name: a, match: { path: 5 } }, { name: b, match: { path: /b } }]')
  expect(faults).toEqual([expect.stringContaining('routes[0].match.path: 5')])
})

test('the store’s part is refused for faults anywhere in the file', () => {
  fs.writeFileSync(file, 'drainLimit: x')
  expect(faultsIn(() => loadStoreConfig({ file, env: {}, flags: {} }))).toEqual([
    expect.stringContaining('drainLimit: "x"'),
  ])
})

test('long values are cut in messages', () => {
  const [fault = ''] = faultsOf(`listen: "${'x'.repeat(10_000)}"`)
  expect(fault.length).toBeLessThan(300)
})
