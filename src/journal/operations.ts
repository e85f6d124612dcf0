/**
 * Operations: effects with a stable identity, whoever attempts them, and what is known of each.
 *
 * ```
 *   none ──attempt──▶ open ──final answer────▶ done      replayed; nothing is sent again
 *                      │ ───other answer─────▶ failed    may be attempted again
 *                      │ ───nothing sent─────▶ what it was before
 *                      └ ───no whole answer──▶ unknown   attempted again, or held, as its route says
 * ```
 *
 * Invariants: one attempt of an operation is open at a time; an attempt, with the fingerprint of its request and the
 * key that the provider is told, is durable before its first byte is sent; `done` is durable before the client gets a
 * byte of the answer, and stays.
 */
import { createHash } from 'node:crypto'
import type { Token } from '../token.ts'
import type { Resolution, UnknownReason } from './records.ts'

/** What names an operation. */
export interface OperationName {
  /** The configured name of who keeps keys apart: keys of two scopes are never the same operation. */
  readonly scope: string
  readonly task: string
  /** The client's `Idempotency-Key`, without quotes. */
  readonly key: string
}

export type OperationState = 'open' | 'failed' | 'unknown' | 'done'

/** How an answer's body is kept, if it is. An empty one is `plain`. */
export type KeptBody =
  | { readonly bodyKept: 'plain' | 'encrypted'; readonly body: Uint8Array }
  /** `none`: it could not be kept as the route wants it, as when it can't be redacted. */
  | { readonly bodyKept: 'none' | 'too-large' | 'erased'; readonly body: undefined }

/** An answer as it is kept for replays. */
export type RecordedAnswer = KeptBody & {
  readonly status: number
  /** Names and values in turn: those of the fields that the route keeps. */
  readonly headers: readonly string[]
}

/** What is on record of an operation. */
export interface OperationRecord extends OperationName {
  readonly id: string
  /** Of method, target and body of the first attempt; any other request is another operation's. */
  readonly fingerprint: string
  readonly state: OperationState
  /** What the provider is told as its key; from the first attempt on. */
  readonly providerKey: string
  /** Wall clock of the first attempt: how old the provider's key is. */
  readonly firstAtMs: number
  /** Once it is done; `undefined` too if somebody found out that it was applied. */
  readonly answer: RecordedAnswer | undefined
  /** Whether an attempt of it was ever without a known outcome; resolving that doesn't change it. */
  readonly everUnknown: boolean
}

/** An operation as it is listed: all but its answer's headers and body. */
export interface ListedOperation extends Omit<OperationRecord, 'answer'> {
  /** Rises from one operation's first attempt to the next one's; where a page ends and the next begins. */
  readonly seq: number
  /** Of its recorded answer. */
  readonly status: number | undefined
  readonly bodyKept: KeptBody['bodyKept'] | undefined
  /** Wall clock of its last attempt. */
  readonly lastAtMs: number
  /** Until then it is kept, unless there are too many. */
  readonly keepUntilMs: number
}

/** One attempt, as it is recorded before it is sent. The write's own record has the rest. */
export interface AttemptRecord {
  /** The id of the write. */
  readonly id: string
  readonly operation: Omit<OperationRecord, 'state' | 'answer' | 'everUnknown'>
  /** `undefined` for a write that was admitted without a token. */
  readonly token: Token | undefined
  readonly holder: string | undefined
  readonly route: string
  readonly method: string
  readonly target: string
  readonly atMs: number
  /** How long after it the operation is kept. */
  readonly keepMs: number
  /**
   * How long after it the provider may know its key: so long it is kept however many there are. Without it that is all
   * of `keepMs`.
   */
  readonly keyLifetimeMs?: number | undefined
}

/** How an attempt ended. */
export interface AttemptEnd {
  readonly outcome: 'answered' | 'not-sent' | 'unknown'
  /** Of the resource's answer, if there was a whole one. */
  readonly status: number | undefined
  readonly reason: UnknownReason | undefined
  /** What to keep for replays: only of an answer that is final. */
  readonly answer: RecordedAnswer | undefined
  readonly final: boolean
  readonly endedAtMs: number
}

/** An attempt as it is listed. */
export interface ListedAttempt extends Omit<AttemptRecord, 'operation' | 'keepMs' | 'keyLifetimeMs'> {
  /** Rises with each attempt, whatever the clock does; where a page ends and the next begins. */
  readonly seq: number
  readonly operation: OperationName & { readonly id: string }
  readonly outcome: AttemptEnd['outcome'] | 'open'
  readonly status: number | undefined
  /** Whether its answer was final. */
  readonly final: boolean
  readonly reason: UnknownReason | undefined
  readonly endedAtMs: number | undefined
  /** What somebody found out about it, if its outcome was unknown. */
  readonly resolution: Resolution | undefined
}

/** The operation's id: a digest of its name, each part with its length before it, so that no two names run together. */
export function operationId(name: OperationName): string {
  return digest('fencegate-operation', name.scope, name.task, name.key)
}

/** The key for the provider where the client's own isn't passed on: of the operation alone, the same for every holder. */
export function derivedKey(id: string): string {
  return `fg-${digest('fencegate-provider-key', id).slice(0, 48)}`
}

/** What makes a request the same as the first one of its operation. */
export function fingerprintOf(method: string, target: string, body: Uint8Array): string {
  return digest('fencegate-request', method, target, body)
}

function digest(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return hash.digest('hex')
}
