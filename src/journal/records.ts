/**
 * What is kept of writes and of operators' acts: plain records, known to the gate, the store and whoever
 * shows them.
 */
import type { Token } from '../token.ts'

/** Why the outcome of a write is unknown. */
export type UnknownReason =
  /** The upstream connection ended, or an answer came that can't be read. */
  | 'connection-lost'
  /** No whole answer came in time. */
  | 'timeout'
  /** The client left before its body was complete, so the rest was not sent. */
  | 'client-left'
  /** A handover cut the connection. */
  | 'superseded'
  /** An operator froze the task, which cut its upgraded connection. */
  | 'frozen'
  /** A hop behind gave an answer that doesn't tell (`unknownStatuses`). */
  | 'status'
  /** The sidecar stopped while the write was open. */
  | 'restart'

/** What an operator found out about an unknown write. */
export type Resolution = 'applied' | 'not-applied' | 'compensated'

/** A write as it was admitted. */
export interface WriteFacts {
  readonly route: string
  readonly method: string
  readonly target: string
  /** The operation's key, if the request named one. */
  readonly operation: string | undefined
}

/** A write on record: an intent while it is open, an unknown outcome until it is resolved. */
export interface WriteRecord extends WriteFacts {
  readonly id: string
  readonly task: string
  readonly token: Token
  readonly holder: string | undefined
  /** Whether it keeps the next holder out until it is resolved (`onUnknown: hold`). */
  readonly holds: boolean
  /** Wall clock, milliseconds since the epoch; shown, never compared. */
  readonly admittedAtMs: number
}

/** How a write ended that nobody knows the outcome of. */
export interface UnknownEnd {
  readonly reason: UnknownReason
  /** Bytes of the request's body handed to the connection; `undefined` after a restart. */
  readonly bytesSent: number | undefined
  readonly endedAtMs: number
}

/** An unknown outcome as it is listed. */
export interface UnknownWrite extends WriteRecord, UnknownEnd {
  readonly resolution: Resolution | undefined
  readonly resolvedBy: string | undefined
  readonly note: string | undefined
  readonly resolvedAtMs: number | undefined
}

/** Who acted, and why. Both are required of every act. */
export interface Author {
  readonly by: string
  readonly reason: string
}

/** An operator's act, as it is kept. */
export interface Act extends Author {
  readonly kind:
    | 'freeze'
    | 'thaw'
    | 'raise'
    | 'fence'
    | 'resolve'
    | 'erase'
    | 'reset'
    | 'retire'
    | 'backup'
    | 'restore'
  /** `undefined` for what is about no single task. */
  readonly task: string | undefined
  /** The token that it set the mark to, if it did. */
  readonly token: Token | undefined
  /** What else there is to say of this kind: strings, numbers, booleans and tokens. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Wall clock, milliseconds since the epoch. */
  readonly atMs: number
}
