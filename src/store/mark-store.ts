/**
 * The contract of a mark store: what the gate asks for, and what it may believe.
 *
 * - A resolved `record` is on stable storage: `kill -9` and power loss at any later instant keep it.
 * - `load` returns committed records only.
 * - A record never goes down: a lower token than the stored one changes nothing.
 * - A rejected `record` says nothing was sent on its strength; the mark must be loaded again before use.
 */
import type { Token } from '../token.ts'

/** What is on record for a task. */
export interface Mark {
  /** The highest token durably recorded. 0 where the task has no record and the store no floor. */
  readonly token: Token
  /** Whether its handover is over: no write with a lower token can be open any more. */
  readonly complete: boolean
  /** False where the task has no record of its own and `token` is the store's floor. */
  readonly recorded: boolean
}

/** What the store learnt about its own past when it opened. */
export interface StoreOrigin {
  /** No clean-stop record: the process before was killed, or cut a write. Grace is needed. */
  readonly unclean: boolean
  /** This start made the store. */
  readonly created: boolean
  /** Wall clock of the store's creation, in milliseconds since the epoch; shown, never compared. */
  readonly createdAtMs: number
}

export interface StoreCounts {
  /** Tasks with a record of their own. */
  readonly tasks: number
  /** Rises by one with each commit that recorded a mark; a restored or rolled-back store shows a lower one. */
  readonly commitSequence: number
}

export interface MarkStore {
  readonly origin: StoreOrigin
  /** The task's committed mark. Rejects with {@link StoreError}. */
  load(task: string): Promise<Mark>
  /** Records a mark durably. Rejects with {@link StoreError}; then nothing may rely on either value. */
  record(task: string, token: Token, complete: boolean): Promise<void>
  /** Counts as of the last commit; never waits for the disk. */
  counts(): StoreCounts
  /** Closes last, after the last write. `clean`: no write was cut, so the next start needs no grace. */
  close(clean: boolean): Promise<void>
}

/** The mark could not be read or written. Ambiguous faults end the process before anybody sees this. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}
