/** Questions to the record, each answered a page at a time so that none keeps the store from its commits. */
import type { Token } from '../token.ts'
import type { OperationState } from './operations.ts'

interface Paged {
  /** Records looked at for one page, at most. */
  readonly limit: number
  /** `next` of the page before; 0 for the first page. */
  readonly after: number
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

/** Journal entries, oldest first. */
export interface JournalQuery extends Paged {
  readonly task?: string | undefined
}

/** A page holds fewer rows than the limit, even none, where others were looked at that the query doesn't want. */
export interface Page<T> {
  readonly rows: readonly T[]
  /** Where the next page begins; `undefined` after the last. */
  readonly next: number | undefined
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
