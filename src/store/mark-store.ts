/**
 * The contract of a mark store: what the gate asks for, and what it may believe.
 *
 * - A resolved `commit` is on stable storage: `kill -9` and power loss at any later instant keep all of it.
 * - A commit's changes are kept together or not at all.
 * - `load` returns committed records only.
 * - A mark never goes down: a lower token than the stored one changes nothing.
 * - A rejected `commit` says nothing was sent on its strength; the task must be loaded again before use.
 */
import type { JournalEntry, ListedEntry } from '../journal/entries.ts'
import type {
  AttemptEnd,
  AttemptRecord,
  ListedAttempt,
  ListedOperation,
  OperationRecord,
} from '../journal/operations.ts'
import type {
  AttemptsQuery,
  IdleQuery,
  IdleTask,
  JournalQuery,
  ListedTask,
  OperationsQuery,
  Page,
  Pruned,
  PruneLimits,
  TasksQuery,
} from '../journal/queries.ts'
import type { Act, Resolution, UnknownEnd, UnknownWrite, WriteRecord } from '../journal/records.ts'
import type { Token } from '../token.ts'

/** What is on record for a task. */
export interface Mark {
  /** The highest token durably recorded. 0 where the task has no record and the store no floor. */
  readonly token: Token
  /** Whether its handover is over: no write with a lower token can be open any more. */
  readonly complete: boolean
  /** False where the task has no record of its own and `token` is the store's floor. */
  readonly recorded: boolean
  /** The first holder seen with the token, if any named itself. */
  readonly holder: string | undefined
}

/** An unresolved unknown write that keeps later holders out. */
export interface HeldWrite {
  readonly id: string
  readonly token: Token
  /** The id of the operation that it was an attempt of, if any. */
  readonly operation?: string | undefined
}

/** All of a task's state. */
export interface TaskRecord {
  readonly mark: Mark
  readonly frozen: boolean
  readonly held: readonly HeldWrite[]
}

export type Change =
  | {
      readonly kind: 'mark'
      readonly task: string
      readonly token: Token
      readonly complete: boolean
      readonly holder: string | undefined
    }
  /** A write is about to be sent; unless its end is recorded too, it is unknown after a restart. */
  | { readonly kind: 'intent'; readonly write: WriteRecord }
  /** An intent is done with: the write was answered or not sent. */
  | { readonly kind: 'ended'; readonly id: string }
  /** A write ended unknown; there may be an intent of the same id, which this ends. */
  | { readonly kind: 'unknown'; readonly write: WriteRecord; readonly end: UnknownEnd }
  | {
      readonly kind: 'resolved'
      readonly id: string
      readonly resolution: Resolution
      readonly by: string
      readonly note: string
      readonly atMs: number
    }
  /**
   * An attempt of an operation is about to be sent: its operation is open, unless it is done. Comes with the write's
   * intent, whose end or restart is the attempt's too.
   */
  | { readonly kind: 'attempt'; readonly attempt: AttemptRecord }
  /** How it ended, and what its operation is by that; only its first ending counts. Comes with the write's ending. */
  | {
      readonly kind: 'attempt-ended'
      readonly id: string
      readonly operation: string
      readonly end: AttemptEnd
    }
  /** From now on, until the store is closed, writes may be sent without an intent. */
  | { readonly kind: 'without-intents' }
  | { readonly kind: 'frozen'; readonly task: string; readonly frozen: boolean }
  /** Goes into the journal too; so does what `resolved` found. */
  | { readonly kind: 'act'; readonly act: Act }
  /** What happened. A full disk may refuse a commit of these alone without failing others. */
  | { readonly kind: 'journal'; readonly entries: readonly JournalEntry[] }
  /** Takes the recorded bodies of a task's operations off the disk. Comes with its act. */
  | { readonly kind: 'erase-bodies'; readonly task: string }
  /** Sets the mark lower: the one exception to P1, for a poisoned mark of a frozen task. Comes with its act. */
  | { readonly kind: 'reset'; readonly task: string; readonly to: Token }
  /** These marks were in use: retention by idleness counts from here. */
  | { readonly kind: 'used'; readonly tasks: readonly string[]; readonly atMs: number }
  /** The lowest token at which tasks under the prefix start that have no mark; never goes down. */
  | { readonly kind: 'floor'; readonly prefix: string; readonly floor: Token }
  /**
   * Forgets these marks, each only if it is idle still, at most `floor`, not frozen and without an unresolved write. The
   * floor of a prefix of theirs must be durable before.
   */
  | {
      readonly kind: 'retired'
      readonly tasks: readonly string[]
      readonly beforeMs: number
      readonly floor: Token
    }

/** What the store learnt about its own past when it opened. */
export interface StoreOrigin {
  /** No clean-stop record: the process before was killed, or cut a write. */
  readonly unclean: boolean
  /**
   * Every write that the process before could send had an intent on record, so the open ones are known
   * without waiting.
   */
  readonly intentsWereComplete: boolean
  /** This start made the store. */
  readonly created: boolean
  /** Wall clock of the store's creation, in milliseconds since the epoch; shown, never compared. */
  readonly createdAtMs: number
  /** This start brought it from an older schema, which `copy` still is: an absolute path. */
  readonly migrated?: { readonly from: number; readonly copy: string } | undefined
}

/** What there is to say of the file. */
export interface StoreState {
  readonly schema: number
  /** Sizes of the database and of its log, and what is free on their disk. */
  readonly bytes: number
  readonly walBytes: number
  readonly freeBytes: number
  /** At which tasks start that have no mark and no prefix with a floor. */
  readonly floor: Token
  readonly floors: readonly { readonly prefix: string; readonly floor: Token }[]
}

export interface BackupReport {
  readonly bytes: number
  /** Of the last commit that is in it. */
  readonly commitSequence: number
}

export interface StoreCounts {
  /** Tasks with a mark of their own. */
  readonly tasks: number
  /** Rises by one with each commit; a restored or rolled-back store shows a lower one. */
  readonly commitSequence: number
  readonly unresolved: number
  readonly frozen: number
  /** `seq` of the newest journal entry; 0 before the first. */
  readonly lastEntry: number
}

export interface MarkStore {
  readonly origin: StoreOrigin
  /** The task's committed state. Rejects with {@link StoreError}. */
  load(task: string): Promise<TaskRecord>
  /** Makes the changes durable, in order. Rejects with {@link StoreError}; then nothing may rely on them. */
  commit(changes: readonly Change[]): Promise<void>
  /** What is on record of an operation. */
  operation(id: string): Promise<OperationRecord | undefined>
  operations(query: OperationsQuery): Promise<Page<ListedOperation>>
  attempts(query: AttemptsQuery): Promise<Page<ListedAttempt>>
  journal(query: JournalQuery): Promise<Page<ListedEntry>>
  /**
   * Forgets what may be forgotten, a bounded part in each call; never an operation with an attempt that is open or
   * without a known outcome, and never the newest entry or operation. On a full disk it may forget nothing.
   */
  prune(limits: PruneLimits): Promise<Pruned>
  tasks(query: TasksQuery): Promise<Page<ListedTask, string>>
  idle(query: IdleQuery): Promise<Page<IdleTask, string>>
  state(): Promise<StoreState>
  /**
   * Writes all that is committed to a new file, without holding up commits, and syncs it. Leaves nothing behind where
   * it rejects: with {@link BackupRefused} if there can be no backup of that name, with {@link StoreError} if its disk
   * is full or it can't be written.
   *
   * @param file an absolute path.
   */
  backup(file: string): Promise<BackupReport>
  /** Unknown writes that nobody has resolved, oldest first, at most `limit`; of one task, if it is named. */
  unresolved(limit: number, task?: string): Promise<UnknownWrite[]>
  /** An unknown write by its id, resolved or not. */
  unknownWrite(id: string): Promise<UnknownWrite | undefined>
  /** Counts as of the last commit; never waits for the disk. */
  counts(): StoreCounts
  /** Closes last, after the last write. `clean`: no write was cut, so the next start needs no grace. */
  close(clean: boolean): Promise<void>
}

/** There can be no backup of that name: a file has it already, or it is no place for one. Another name may do. */
export class BackupRefused extends Error {
  override readonly name = 'BackupRefused'
}

/** What was asked could not be read or written. Ambiguous faults end the process before anybody sees this. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}
