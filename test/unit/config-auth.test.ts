/** The resource's credential: where it goes, that it goes to no other origin, and that it is never shown. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
directory.write('credential', 'Bearer s3cr3t\n')
const upstream = (keys: string) => `upstream: { url: "https://a", ${keys} }`

test('the file holds the whole value of the field; authorization, unless another one is named', () => {
  expect(directory.load(upstream('auth: { file: ./credential }')).config.upstream.auth).toEqual({
    header: 'authorization',
    value: 'Bearer s3cr3t',
  })
  const { config } = directory.load(upstream('auth: { header: X-Api-Key, file: credential }'))
  expect(config.upstream.auth?.header).toBe('x-api-key')
  expect(directory.load('').config.upstream.auth).toBeUndefined()
})

const visible = (min: number) => fc.integer({ min, max: 0x7e }).map((code) => String.fromCharCode(code))

test('every legal value arrives as it is, with or without the newline of an editor', () => {
  const inner = fc.string({ unit: fc.oneof(visible(0x20), fc.constant('\t')), maxLength: 100 })
  fc.assert(
    fc.property(
      visible(0x21),
      inner,
      visible(0x21),
      fc.constantFrom('', '\n', '\r\n'),
      (first, rest, last, end) => {
        directory.write('any', first + rest + last + end)
        const { auth } = directory.load(upstream('auth: { file: any }')).config.upstream
        expect(auth?.value).toBe(first + rest + last)
      },
    ),
    { numRuns: 50 },
  )
  directory.write('longest', 'k'.repeat(8192))
  expect(directory.load(upstream('auth: { file: longest }')).config.upstream.auth?.value).toHaveLength(8192)
})

test.each([
  ['nothing', '', 'is empty'],
  ['an empty line', '\n', 'is empty'],
  ['two lines', 's3cr3t\ns3cr3t\n', 'has more than one line'],
  ['a second newline', 's3cr3t\n\n', 'has more than one line'],
  ['a smuggled field', 's3cr3t\r\nX-Admin: 1', 'has more than one line'],
  ['a carriage return', 's3cr3t\rX', 'has more than one line'],
  ['a space at its end', 's3cr3t ', "what no header's value can"],
  ['a control character', 's3cr3t\0', "what no header's value can"],
  ['a letter beyond ASCII', 's3cr3té', "what no header's value can"],
  ['a byte that is no text', Buffer.from([0x73, 0x33, 0xff]), "what no header's value can"],
  ['too much', `s3cr3t${'x'.repeat(8192)}`, 'is longer than 8192 bytes'],
])('a file with %s is refused, and nothing of it is told', (_, content, part) => {
  directory.write('bad', content)
  const yaml = upstream('auth: { file: bad }')
  directory.expectFault(yaml, 'upstream.auth.file: "bad" ', part)
  expect(directory.faultsOf(yaml).join()).not.toMatch(/s3/)
})

test.each<readonly [string, string, string]>([
  [upstream('auth: {}'), 'upstream.auth.file: is missing', 'name the file'],
  [upstream('auth:'), 'upstream.auth: is empty', 'or remove the key'],
  [upstream('auth: Bearer'), 'upstream.auth: what it holds does not fit', 'a mapping of keys'],
  [
    upstream('auth: { file: credential, value: x }'),
    'upstream.auth.value: is not a key here',
    'header, file',
  ],
  [upstream('auth: { file: none }'), 'upstream.auth.file: cannot be read (ENOENT)', 'this user may read'],
  [upstream('auth: { file: . }'), 'upstream.auth.file: cannot be read (EISDIR)', ''],
  [upstream('auth: { header: "a b", file: credential }'), 'upstream.auth.header: "a b" is not the name', ''],
  ...['Host', 'connection', 'Content-Length', 'transfer-encoding', 'te', 'upgrade', 'expect', 'via'].map(
    (name) =>
      [
        upstream(`auth: { header: ${name}, file: credential }`),
        `upstream.auth.header: "${name}" has a meaning of its own`,
        'authorization or x-api-key',
      ] as const,
  ),
  [upstream('auth: { header: X-Forwarded-For, file: credential }'), 'upstream.auth.header: "X-', 'meaning'],
  ...['fencing-task', 'Fencing_Token', 'fencing-holder', 'idempotency-key'].map(
    (name) =>
      [
        upstream(`auth: { header: ${name}, file: credential }`),
        `upstream.auth.header: "${name}" is a header of the claim`,
        'another field',
      ] as const,
  ),
  [
    `claim: { taskHeader: X-Job }\n${upstream('auth: { header: x-job, file: credential }')}`,
    'upstream.auth.header: "x-job" is a header of the claim',
    '',
  ],
])('%s', (yaml, start, part) => directory.expectFault(yaml, start, part))

test.each([
  'auth: Bearer s3cr3t',
  'auth: [s3cr3t]',
  'auth: { file: Bearer s3cr3t }',
  'auth: { file: "s3cr3t\\n" }',
  'auth: { file: [s3cr3t] }',
  'auth: { file: 53 }',
  'auth: { key: s3cr3t }',
])('a credential that stands in the file itself is not repeated: %s', (keys) => {
  const faults = directory.faultsOf(upstream(keys))
  expect(faults[0]).toContain('upstream.auth')
  expect(faults.join()).not.toMatch(/s3cr3t|53/)
})

test('both faults of a route’s auth are told', () => {
  const faults = directory.faultsOf('routes: [{ name: r, upstream: { auth: { header: te } } }]')
  expect(faults).toEqual([
    expect.stringContaining('routes[0].upstream.auth.header: "te" has a meaning'),
    expect.stringContaining('routes[0].upstream.auth.file: is missing'),
  ])
})

const ABOVE = upstream(
  'auth: { file: credential }, tls: { ca: server-ca.pem, cert: client-dns.pem, key: client-dns-key.pem, ' +
    'serverName: a.example }',
)

/** What a route may say of its upstream, and whether it inherits. */
const own = fc.record({
  url: fc.constantFrom(undefined, 'https://b', 'https://a'),
  auth: fc.boolean(),
  ca: fc.boolean(),
  pair: fc.boolean(),
  serverName: fc.boolean(),
})

test('a route inherits the credential and certificates, unless it has a url of its own', () => {
  directory.write('own-credential', 'own')
  const above = directory.load(ABOVE).config.upstream
  const nothing = { ca: undefined, cert: undefined, key: undefined, serverName: undefined }
  fc.assert(
    fc.property(own, ({ url, auth, ca, pair, serverName }) => {
      const tls = [
        ca && 'ca: clients-ca.pem',
        pair && 'cert: client-settler.pem, key: client-settler-key.pem',
        serverName && 'serverName: own.example',
      ].filter(Boolean)
      const keys = [
        'connections: 3',
        url && `url: "${url}"`,
        auth && 'auth: { header: x-own, file: own-credential }',
        tls.length > 0 && `tls: { ${tls.join(', ')} }`,
      ].filter(Boolean)
      const { routes } = directory.load(
        `${ABOVE}\nroutes: [{ name: r, match: { path: /r }, upstream: { ${keys.join(', ')} } }]`,
      ).config
      const inherited = url === undefined ? above : { auth: undefined, tls: nothing }
      expect(routes[0]?.upstream).toEqual({
        ...above,
        connections: 3,
        origin: url ?? 'https://a',
        auth: auth ? { header: 'x-own', value: 'own' } : inherited.auth,
        tls: {
          ca: ca ? directory.read('clients-ca.pem') : inherited.tls.ca,
          cert: pair ? directory.read('client-settler.pem') : inherited.tls.cert,
          key: pair ? directory.read('client-settler-key.pem') : inherited.tls.key,
          serverName: serverName ? 'own.example' : inherited.tls.serverName,
        },
      })
      expect(routes[1]?.upstream).toEqual(above)
    }),
    { numRuns: 60 },
  )
})
