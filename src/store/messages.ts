/** What the store says to its worker thread and back. */
import type { ListedEntry } from '../journal/entries.ts'
import type { ListedAttempt, ListedOperation, OperationRecord } from '../journal/operations.ts'
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
import type { UnknownWrite } from '../journal/records.ts'
import type { BackupReport, Change, StoreCounts, StoreOrigin, StoreState, TaskRecord } from './mark-store.ts'

export interface CommitRequest {
  readonly id: number
  readonly changes: readonly Change[]
}

export type Read =
  | { readonly kind: 'task'; readonly task: string }
  | { readonly kind: 'unresolved'; readonly limit: number; readonly task: string | undefined }
  | { readonly kind: 'write'; readonly id: string }
  | { readonly kind: 'operation'; readonly id: string }
  | { readonly kind: 'operations'; readonly query: OperationsQuery }
  | { readonly kind: 'attempts'; readonly query: AttemptsQuery }
  | { readonly kind: 'journal'; readonly query: JournalQuery }
  | { readonly kind: 'tasks'; readonly query: TasksQuery }
  | { readonly kind: 'idle'; readonly query: IdleQuery }
  | { readonly kind: 'state' }
  /** Changes only what is past its time, so its place is among the reads, after the batch's commit. */
  | { readonly kind: 'prune'; readonly limits: PruneLimits }

export interface ReadRequest {
  readonly id: number
  readonly read: Read
}

export type ReadResult =
  | TaskRecord
  | UnknownWrite[]
  | UnknownWrite
  | OperationRecord
  | Page<ListedOperation>
  | Page<ListedAttempt>
  | Page<ListedEntry>
  | Page<ListedTask, string>
  | Page<IdleTask, string>
  | StoreState
  | Pruned
  | undefined

export type ToWorker =
  | { readonly kind: 'work'; readonly commits: CommitRequest[]; readonly reads: ReadRequest[] }
  | { readonly kind: 'backup'; readonly id: number; readonly file: string }
  | { readonly kind: 'close'; readonly clean: boolean }

export type FromWorker =
  | { readonly kind: 'open'; readonly origin: StoreOrigin; readonly counts: StoreCounts }
  /** The store did not open; `message` says why and what to do. */
  | { readonly kind: 'refused'; readonly exitCode: number; readonly message: string }
  | {
      readonly kind: 'done'
      /** Ids of commits that are durable now. */
      readonly committed: number[]
      /** Ids of commits that failed, with nothing changed. */
      readonly failed: number[]
      readonly failure: string | undefined
      readonly answers: { readonly id: number; readonly result: ReadResult }[]
      readonly counts: StoreCounts
    }
  | { readonly kind: 'backed-up'; readonly id: number; readonly report: BackupReport }
  | {
      readonly kind: 'no-backup'
      readonly id: number
      readonly failure: string
      /** The name is at fault. */
      readonly refused: boolean
    }
  /** A commit whose result nobody can know: the process has to end. */
  | { readonly kind: 'fatal'; readonly message: string }
  | { readonly kind: 'closed' }
