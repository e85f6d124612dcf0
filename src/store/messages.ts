/** What the store says to its worker thread and back. */
import type { UnknownWrite } from '../journal/records.ts'
import type { Change, StoreCounts, StoreOrigin, TaskRecord } from './mark-store.ts'

export interface CommitRequest {
  readonly id: number
  readonly changes: readonly Change[]
}

export type Read =
  | { readonly kind: 'task'; readonly task: string }
  | { readonly kind: 'unresolved'; readonly limit: number }
  | { readonly kind: 'write'; readonly id: string }

export interface ReadRequest {
  readonly id: number
  readonly read: Read
}

export type ReadResult = TaskRecord | UnknownWrite[] | UnknownWrite | undefined

export type ToWorker =
  | { readonly kind: 'work'; readonly commits: CommitRequest[]; readonly reads: ReadRequest[] }
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
  /** A commit whose result nobody can know: the process has to end. */
  | { readonly kind: 'fatal'; readonly message: string }
  | { readonly kind: 'closed' }
