/**
 * The configuration in force: one frozen value, made once before a port is bound. Durations are
 * milliseconds, sizes bytes; the file spells them `30s` and `1MiB`.
 */
import type { Token } from '../token.ts'

export interface Config {
  /** The data port. */
  readonly listen: Address
  readonly admin: AdminConfig
  /** TLS of the data port; `undefined`: plain HTTP. */
  readonly tls: DataPortTls | undefined
  /** Which tasks a client's certificate may write. Empty: certificates bind nothing. */
  readonly clients: readonly ClientRule[]
  /** Where writes and reads go unless a route says otherwise. */
  readonly upstream: Upstream
  readonly store: StoreConfig
  readonly claim: ClaimConfig
  /** How long a request waits for lower writes before it is told `handover-pending`. */
  readonly handoverTimeoutMs: number
  /** How long after a durable raise lower writes that are still open are cut. */
  readonly drainLimitMs: number
  /** After an unclean stop, how long no handover completes. Should outlast the resource's longest work. */
  readonly restartGraceMs: number
  /** Whether a refusal tells the highest token on record. */
  readonly revealHighest: boolean
  readonly limits: Limits
  readonly shutdown: Shutdown
  readonly operations: {
    /** Encrypts the bodies of kept answers: 32 bytes, a secret, never shown. `undefined`: they are kept as they are. */
    readonly key: Buffer | undefined
  }
  readonly journal: JournalConfig
  readonly records: {
    /** Whether the values in a target's query are left out of records. */
    readonly hideQueryValues: boolean
  }
  readonly log: { readonly level: LogLevel }
  /** How often the files of the configuration are looked at for changes; 0: never, only when asked by signal. */
  readonly reloadIntervalMs: number
  /** In the order of the file; the last one is always the default route. */
  readonly routes: readonly Route[]
}

export interface Address {
  readonly host: string
  /** 0 to 65535; 0 takes any free port. */
  readonly port: number
}

export interface AdminConfig {
  readonly listen: Address
  /** Who may act there; `undefined`: nobody. */
  readonly tokens: AdminTokens | undefined
}

export interface AdminTokens {
  /** At least one; names and tokens are unique. */
  readonly named: readonly AdminToken[]
  /** Whether the mode of their file lets every user of the machine read it. */
  readonly othersMayRead: boolean
}

export interface AdminToken {
  /** What its owner's acts are recorded under. */
  readonly name: string
  /** SHA-256 of the token, which itself is not kept. A secret: never shown. */
  readonly digest: Buffer
}

/** Certificates and keys are PEM text, read and found to fit each other. */
export interface DataPortTls {
  /** The chain, leaf first. */
  readonly cert: string
  readonly key: string
  /** The CAs that client certificates must come from; `undefined`: none is asked for. */
  readonly clientCa: string | undefined
  /** Of effect only with `clientCa`. */
  readonly clientCertificate: 'required' | 'optional'
}

export interface ClientRule {
  readonly san: SubjectAltName
  /** Prefixes of task names, at least one; the empty one is every task. */
  readonly tasks: readonly string[]
}

/**
 * One name of a certificate, whole. URIs are as written; DNS names and what follows the `@` of an e-mail address
 * are in lower case; IP addresses are in the one spelling that a URL would have (`10.0.0.1`, `2001:db8::1`).
 */
export interface SubjectAltName {
  readonly kind: 'URI' | 'DNS' | 'email' | 'IP Address'
  readonly value: string
}

export interface Upstream {
  /** `http://host:port` or `https://host:port`, no path: targets go through byte for byte. */
  readonly origin: string
  /** `rewrite`: the origin's own host; `preserve`: what the client sent. */
  readonly host: 'rewrite' | 'preserve'
  /** Connections to this origin, at most; further requests wait. */
  readonly connections: number
  readonly connectTimeoutMs: number
  /** From the last byte of the request to the answer's head. */
  readonly headersTimeoutMs: number
  /** Silence within the answer's body; and how long an answer is read on for a client that left. */
  readonly bodyTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveTimeoutMs: number
  /** Whether `X-Forwarded-For`, `-Host` and `-Proto` are added. */
  readonly forwardedHeaders: boolean
  /** Whether `Via` is added. */
  readonly via: boolean
  /** The resource's credential: replaces what the client sent in that field. */
  readonly auth: UpstreamAuth | undefined
  readonly tls: UpstreamTls
}

export interface UpstreamAuth {
  /** Lower case; never a header of the claim. */
  readonly header: string
  /** The whole field value. A secret: never shown. */
  readonly value: string
}

/** Certificates and keys are PEM text, read and found to fit each other. */
export interface UpstreamTls {
  /** The CAs to trust instead of the system's. */
  readonly ca: string | undefined
  /** The client certificate, leaf first; there is a `key` if and only if there is a `cert`. */
  readonly cert: string | undefined
  readonly key: string | undefined
  /** What SNI names and the certificate must be for, instead of the origin's host. Lower case. */
  readonly serverName: string | undefined
}

export interface StoreConfig {
  /** The data directory, absolute. */
  readonly path: string
  /** The Unix socket in it by which operators reach the sidecar. */
  readonly controlSocket: string
  readonly create: 'if-missing' | 'never'
  /** How long a start waits for another process to let go of the store. */
  readonly lockWaitMs: number
  /** How long a request waits for the store before it is told `store-unavailable`. */
  readonly timeoutMs: number
  /** Marks of idle tasks kept in memory, at most. */
  readonly cachedTasks: number
}

export interface ClaimConfig {
  /** Header names, lower case. */
  readonly taskHeader: string
  readonly tokenHeader: string
  readonly holderHeader: string
  /** Names the operation in records of unknown outcomes. */
  readonly operationHeader: string
  /** Tokens above it are malformed. */
  readonly maxToken: Token
  /** How far above a task's recorded mark a token may be; `undefined`: any distance. */
  readonly maxTokenJump: Token | undefined
}

export interface Limits {
  /** Request line and header fields together. */
  readonly headSizeBytes: number
  /** Header fields of one request. */
  readonly headerCount: number
  /** From the first byte of a request to the end of its head. */
  readonly headTimeoutMs: number
  /** How long an idle client connection is kept. */
  readonly idleTimeoutMs: number
  /** A request's body; `undefined`: any size. */
  readonly bodySizeBytes: number | undefined
  /** What a client must send of its body, or take of an answer, while others wait for a connection. */
  readonly bodyRateBytesPerSecond: number
  /** Client connections. */
  readonly connections: number
  /** Open fenced writes in all, and of one task. */
  readonly openWrites: number
  readonly openWritesPerTask: number
  /** Requests of one task that wait: for the store, for a handover. */
  readonly waitersPerTask: number
}

export interface Shutdown {
  /** After SIGTERM, how long new connections and requests are still taken. */
  readonly delayMs: number
  /** After the delay, how long open writes may take to end before they are cut. */
  readonly deadlineMs: number
}

/** What happened, once there is more of it than this, is dropped, oldest first. */
export interface JournalConfig {
  readonly maxAgeMs: number
  readonly maxRows: number
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface Route {
  /** Shows in metrics and logs; `default` is the last one's. */
  readonly name: string
  readonly match: RouteMatch
  /** `none`: passes without a claim; `fence`: needs a current token; `once`: an operation key as well. */
  readonly guard: 'none' | 'fence' | 'once'
  /** `optional`, only under `once`: a write without a token is admitted, and deduplicated by its key alone. */
  readonly token: 'required' | 'optional'
  /** There is one if and only if `guard` is `once`. */
  readonly once: OnceRule | undefined
  /** `observe`: forwards everything, records marks, counts what it would refuse. */
  readonly mode: 'enforce' | 'observe'
  /** Whether a handover waits for writes that are open on this route, or cuts them off. */
  readonly handover: 'drain' | 'abort'
  /** Whether an unknown outcome on this route keeps the next holder out until somebody resolved it. */
  readonly onUnknown: 'proceed' | 'hold'
  /** Whether an intent is durable before a write is sent; always so under `hold`, and under `once`. */
  readonly intent: 'none' | 'durable'
  /** Statuses of answers that a hop behind gave and that don't tell the outcome. */
  readonly unknownStatuses: readonly number[]
  /** Protocols, in lower case, that a request may upgrade its connection to. */
  readonly upgrades: readonly string[]
  readonly upstream: Upstream
  /** Whether the claim's headers reach the resource. */
  readonly forwardClaim: boolean
  /** Added to every refusal of this route, to tell a provider's SDK that it must not retry. */
  readonly refusalHeaders: Readonly<Record<string, string>>
  /** The body of a refusal: RFC 9457 problem details, or the XML that clients of S3 read. */
  readonly refusalFormat: 'problem' | 's3'
}

/** How the operations of a route are told apart, repeated and kept. */
export interface OnceRule {
  /** Keys of two scopes are never the same operation. 1 to 64 letters, digits, `.`, `_` or `-`. */
  readonly scope: string
  /**
   * What a repeat of an operation with an unknown outcome does. `send`: it goes out again with the same provider key,
   * while the first attempt is younger than `keyLifetimeMs`; `hold`: it is refused until somebody resolved the outcome.
   */
  readonly repeatUnknown: 'send' | 'hold'
  /** How long the provider remembers a key. */
  readonly keyLifetimeMs: number
  /** What a repeat does that would be sent, but whose key the provider has forgotten by now. */
  readonly expired: 'refuse' | 'send'
  /** Statuses, besides 2xx, of answers that are final. After an unknown attempt only 2xx is. */
  readonly finalStatuses: readonly number[]
  /** Fields of an answer that are kept for replays; lower case. */
  readonly keepHeaders: readonly string[]
  /** The longest body of an answer that is kept for replays; 0: none but the empty one. */
  readonly keepBodyBytes: number
  /** JSON pointers (RFC 6901) of what is replaced in a body before it is kept. */
  readonly redact: readonly string[]
  /** The longest body of a request, which is held in memory for its fingerprint. */
  readonly maxBodyBytes: number
  /** What the provider is told as its key: the client's own, or one derived from the operation. */
  readonly providerKey: 'forward' | 'derive'
  /** How long an operation is kept after it has ended; no less than `keyLifetimeMs`. */
  readonly retentionMs: number
}

export interface RouteMatch {
  /** Methods in upper case; `undefined`: every method, of which `GET`, `HEAD` and `OPTIONS` are never fenced. */
  readonly methods: readonly string[] | undefined
  /** `/a/{task}/*`; `undefined`: every path. */
  readonly path: string | undefined
}
