/** Questions to the record, each answered a page at a time so that none keeps the store from its commits. */
import type { Token } from '../token.ts'
import type { JournalEntry } from './entries.ts'
import type { OperationState } from './operations.ts'

interface Paged<P = number> {
  /** Records looked at for one page, at most. */
  readonly limit: number
  /** `next` of the page before; 0, or the empty text, for the first page. */
  readonly after: P
}

/** Tasks with a mark or a freeze of their own, in the order of their names. */
export interface TasksQuery extends Paged<string> {
  /** A part of the name, in the same case. */
  readonly search?: string | undefined
  readonly frozen?: boolean | undefined
}

/** A task as it is listed. */
export interface ListedTask {
  readonly task: string
  /** Its mark; the floor where it has none of its own. */
  readonly token: Token
  readonly complete: boolean
  /** False where `token` is a floor. */
  readonly recorded: boolean
  readonly holder: string | undefined
  readonly frozen: boolean
  /** When the mark was last raised, or noted as used; wall clock, milliseconds since the epoch. */
  readonly usedAtMs: number | undefined
}

/** Marks under a prefix that nobody has used since a time: none that is frozen or has a write on record that is unresolved. */
export interface IdleQuery extends Paged<string> {
  readonly prefix: string
  readonly beforeMs: number
}

export interface IdleTask {
  readonly task: string
  readonly token: Token
}

/** Operations in the order of their first attempts. */
export interface OperationsQuery extends Paged {
  readonly task?: string | undefined
  readonly state?: OperationState | undefined
}

/** Attempts in the order in which they were recorded. */
export interface AttemptsQuery extends Paged {
  readonly task?: string | undefined
  readonly token?: Token | undefined
  /** The id of one operation. */
  readonly operation?: string | undefined
}

/** Journal entries, oldest first unless it says otherwise. */
export interface JournalQuery extends Paged {
  readonly task?: string | undefined
  readonly kind?: JournalEntry['kind'] | undefined
  /** `newest`: from the end backwards; `after` is then the entry before which to go on, 0 for the end. */
  readonly order?: 'oldest' | 'newest' | undefined
}

/** A page holds fewer rows than the limit, even none, where others were looked at that the query doesn't want. */
export interface Page<T, P = number> {
  readonly rows: readonly T[]
  /** Where the next page begins; `undefined` after the last. */
  readonly next: P | undefined
}

/** What may be forgotten. */
export interface PruneLimits {
  readonly nowMs: number
  /** Age beyond which a journal entry goes. An operation goes at the end of its `keepMs`. */
  readonly maxAgeMs: number
  /** Journal entries, and operations, beyond which the oldest go; no operation before the end of its `keyLifetimeMs`. */
  readonly maxRows: number
}

/** What was forgotten. */
export interface Pruned {
  readonly entries: number
  readonly operations: number
  readonly attempts: number
  /** Whether there is more to forget: each call does a bounded part. */
  readonly more: boolean
}
