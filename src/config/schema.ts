/**
 * The configuration file as one JSON Schema: its keys, what kind of value each takes, and its default.
 *
 * This is the only place where a key or a default stands. A default is written as one would write it in the
 * file; `check.ts` fills it in. A `description` completes the sentence "write ...". What a string holds
 * (a duration, a URL) is judged by the parser that reads it, in `resolve.ts`.
 */
import Type, { type Static, type TProperties, type TSchema } from 'typebox'

/** Unknown keys are faults everywhere. */
const mapping = { additionalProperties: false, description: 'a mapping of keys' }

/** A mapping that may be left out, because every key in it has a default or may be missing. */
const section = <P extends TProperties>(properties: P) => Type.Object(properties, { ...mapping, default: {} })

const text = (description: string, value: string) => Type.String({ description, default: value })
const duration = (value: string) => text('a duration such as 500ms, 30s, 5m or 1h', value)
const age = (value: string) => text('a duration such as 30s, 12h or 30d', value)
const SIZE = 'a size such as 512B, 16KiB, 1MiB or 2GiB'
const size = (value: string) => text(SIZE, value)
const address = (value: string) => text('an address HOST:PORT such as 127.0.0.1:8470', value)
const headerName = (value: string) => text('the name of a header field', value)
const flag = (value: boolean) => Type.Boolean({ description: 'true or false', default: value })

const choice = <T extends string[]>(values: readonly [...T], value: T[number]) =>
  Type.Enum(values, { description: `one of ${values.join(', ')}`, default: value })

const count = (maximum: number, value: number, minimum = 1) =>
  Type.Integer({
    minimum,
    maximum,
    description: `a whole number from ${minimum} to ${maximum}`,
    default: value,
  })

const pemFile = Type.Optional(Type.String({ description: 'the path of a PEM file' }))

const token = { description: 'a token in decimal digits, without point or exponent' }

/** Tokens are read digit by digit; as a float 9007199254740993 would lose its last digit. */
export const TOKEN_KEYS: ReadonlySet<string> = new Set(['maxToken', 'maxTokenJump'])

const upstreamKeys = {
  /** Required, but it may come from a flag or the environment as well: `resolve.ts` asks for it. */
  url: Type.Optional(Type.String({ description: 'a URL such as http://127.0.0.1:9200' })),
  host: choice(['rewrite', 'preserve'], 'rewrite'),
  connections: count(10_000, 128),
  connectTimeout: duration('5s'),
  headersTimeout: duration('30s'),
  bodyTimeout: duration('60s'),
  keepAliveTimeout: duration('4s'),
  forwardedHeaders: flag(false),
  via: flag(false),
  auth: Type.Optional(
    Type.Object(
      {
        header: headerName('authorization'),
        /** Required, as are the keys below that `resolve.ts` asks for; so all faults of a mapping are found. */
        file: Type.Optional(Type.String({ description: 'the path of a file' })),
      },
      mapping,
    ),
  ),
  tls: section({
    ca: pemFile,
    cert: pemFile,
    key: pemFile,
    serverName: Type.Optional(Type.String({ description: 'a host name' })),
  }),
}

/** The same keys with nothing filled in: what is left out is inherited. */
const inheriting = <P extends TProperties>(properties: P) => {
  const bare = Object.entries(properties).map(([key, schema]) => {
    const { default: _, ...rest } = schema as TSchema & { default?: unknown }
    return [key, rest]
  })
  return Type.Partial(Type.Object(Object.fromEntries(bare) as P), mapping)
}

const clientSchema = Type.Object(
  {
    san: Type.Optional(
      Type.String({ description: 'a URI, DNS name, e-mail address or IP address of the certificate' }),
    ),
    tasks: Type.Optional(
      Type.Array(Type.String({ description: 'the prefix of a task name, in quotes' }), {
        minItems: 1,
        uniqueItems: true,
        description: 'a list of at least one prefix of task names, each named once; "" is every task',
      }),
    ),
  },
  mapping,
)

const onceSchema = Type.Object(
  {
    scope: text('a name of 1 to 64 letters, digits, ".", "_" or "-"', 'default'),
    repeatUnknown: choice(['send', 'hold'], 'hold'),
    keyLifetime: age('24h'),
    expired: choice(['refuse', 'send'], 'refuse'),
    finalStatuses: Type.Array(
      Type.Integer({
        minimum: 300,
        maximum: 599,
        description: 'a status from 300 to 599; 2xx is always final',
      }),
      {
        uniqueItems: true,
        description: 'a list of statuses, each named once',
        default: [400, 402, 404, 410, 422],
      },
    ),
    keepHeaders: Type.Array(Type.String({ description: 'the name of a header field' }), {
      uniqueItems: true,
      description: 'a list of header fields, each named once',
      default: ['content-type', 'location', 'etag', 'request-id'],
    }),
    keepBody: size('64KiB'),
    redact: Type.Array(Type.String({ description: 'a JSON pointer such as /card/number' }), {
      uniqueItems: true,
      description: 'a list of JSON pointers, each named once',
      default: [],
    }),
    maxBody: size('1MiB'),
    providerKey: choice(['forward', 'derive'], 'forward'),
    retention: age('30d'),
  },
  mapping,
)

const routeSchema = Type.Object(
  {
    /** Required; `routes.ts` asks for it, so that a route without one is checked to its end. */
    name: Type.Optional(Type.String({ description: 'a name of 1 to 64 letters, digits, ".", "_" or "-"' })),
    match: section({
      methods: Type.Optional(
        Type.Array(Type.String({ description: 'an HTTP method' }), {
          minItems: 1,
          uniqueItems: true,
          description: 'a list of at least one method, each named once',
        }),
      ),
      path: Type.Optional(Type.String({ description: 'a path such as /settlements/{task}/*' })),
    }),
    guard: choice(['none', 'fence', 'once'], 'fence'),
    token: choice(['required', 'optional'], 'required'),
    /** `check.ts` adds it where the guard needs it, so that it can be told from one that is of no effect. */
    once: Type.Optional(onceSchema),
    mode: choice(['enforce', 'observe'], 'enforce'),
    handover: choice(['drain', 'abort'], 'drain'),
    onUnknown: choice(['proceed', 'hold'], 'proceed'),
    intent: choice(['none', 'durable'], 'none'),
    unknownStatuses: Type.Array(
      Type.Integer({ minimum: 200, maximum: 599, description: 'a status from 200 to 599' }),
      { uniqueItems: true, description: 'a list of statuses, each named once', default: [502, 504] },
    ),
    upgrades: Type.Array(Type.String({ description: 'a protocol such as websocket' }), {
      uniqueItems: true,
      description: 'a list of protocols, each named once',
      default: [],
    }),
    upstream: Type.Optional(inheriting(upstreamKeys)),
    forwardClaim: flag(true),
    refusalFormat: choice(['problem', 's3'], 'problem'),
    refusalHeaders: Type.Record(Type.String(), Type.String({ description: 'text, in quotes' }), {
      description: 'a mapping of header names to text',
      default: {},
    }),
  },
  mapping,
)

export const configSchema = Type.Object(
  {
    listen: address('127.0.0.1:8470'),
    admin: section({
      listen: address('127.0.0.1:8471'),
      tokenFile: Type.Optional(Type.String({ description: 'the path of a file' })),
    }),
    tls: section({
      cert: pemFile,
      key: pemFile,
      clientCa: pemFile,
      clientCertificate: choice(['required', 'optional'], 'required'),
    }),
    clients: Type.Array(clientSchema, { description: 'a list of clients', default: [] }),
    upstream: section(upstreamKeys),
    store: section({
      path: text('the path of a directory', './data'),
      create: choice(['if-missing', 'never'], 'if-missing'),
      lockWait: duration('10s'),
      timeout: duration('2s'),
      cachedTasks: count(10_000_000, 100_000),
    }),
    claim: section({
      taskHeader: headerName('fencing-task'),
      tokenHeader: headerName('fencing-token'),
      holderHeader: headerName('fencing-holder'),
      operationHeader: headerName('idempotency-key'),
      maxToken: Type.String({ ...token, default: '9223372036854775807' }),
      maxTokenJump: Type.Optional(Type.String(token)),
    }),
    handoverTimeout: duration('10s'),
    drainLimit: duration('60s'),
    restartGrace: duration('30s'),
    revealHighest: flag(true),
    limits: section({
      headSize: size('16KiB'),
      headerCount: count(10_000, 256, 16),
      headTimeout: duration('10s'),
      idleTimeout: duration('75s'),
      bodySize: Type.Optional(Type.String({ description: SIZE })),
      bodyRate: size('1KiB'),
      connections: count(100_000, 10_000),
      openWrites: count(100_000, 10_000),
      openWritesPerTask: count(100_000, 1000),
      waitersPerTask: count(100_000, 1000),
    }),
    shutdown: section({ delay: duration('3s'), deadline: duration('25s') }),
    operations: section({ keyFile: Type.Optional(Type.String({ description: 'the path of a file' })) }),
    journal: section({ maxAge: age('90d'), maxRows: count(1_000_000_000, 1_000_000) }),
    records: section({ hideQueryValues: flag(false) }),
    log: section({ level: choice(['debug', 'info', 'warn', 'error', 'silent'], 'info') }),
    reloadInterval: duration('5s'),
    routes: Type.Array(routeSchema, { description: 'a list of routes', default: [] }),
  },
  mapping,
)

/** A file that has passed `check.ts`: the kinds are right and the defaults filled in. */
export type ConfigFile = Static<typeof configSchema>
export type ClientFile = ConfigFile['clients'][number]
export type UpstreamFile = ConfigFile['upstream']
export type RouteFile = ConfigFile['routes'][number]
export type OnceFile = Static<typeof onceSchema>
