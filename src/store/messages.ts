/** What the store says to its worker thread and back. */
import type { Token } from '../token.ts'
import type { Mark, StoreCounts, StoreOrigin } from './mark-store.ts'

export interface RecordRequest {
  readonly id: number
  readonly task: string
  readonly token: Token
  readonly complete: boolean
}

export interface LoadRequest {
  readonly id: number
  readonly task: string
}

export type ToWorker =
  | { readonly kind: 'work'; readonly records: RecordRequest[]; readonly loads: LoadRequest[] }
  | { readonly kind: 'close'; readonly clean: boolean }

export type FromWorker =
  | { readonly kind: 'open'; readonly origin: StoreOrigin; readonly counts: StoreCounts }
  /** The store did not open; `message` says why and what to do. */
  | { readonly kind: 'refused'; readonly exitCode: number; readonly message: string }
  | {
      readonly kind: 'done'
      /** Ids of records that are durable now. */
      readonly recorded: number[]
      /** Ids of records and loads that failed, with nothing changed. */
      readonly failed: number[]
      readonly failure: string | undefined
      readonly loaded: { readonly id: number; readonly mark: Mark }[]
      readonly counts: StoreCounts
    }
  /** A commit whose result nobody can know: the process has to end. */
  | { readonly kind: 'fatal'; readonly message: string }
  | { readonly kind: 'closed' }
