/** What a test and the process that holds its store say to each other. */
import type { MarkStore, StoreCounts, StoreOrigin } from '../../src/store/mark-store.ts'

/** `args` are those of the method of the same name in `MarkStore`. */
export interface StoreCall {
  readonly id: number
  readonly method: Exclude<keyof MarkStore, 'origin' | 'counts'>
  readonly args: readonly unknown[]
}

export type StoreReply =
  | { readonly kind: 'open'; readonly origin: StoreOrigin; readonly counts: StoreCounts }
  | { readonly kind: 'refused' | 'fatal'; readonly exitCode: number; readonly message: string }
  | {
      readonly kind: 'result'
      readonly id: number
      readonly counts: StoreCounts
      readonly value?: unknown
      /** The message of the StoreError that it was rejected with. */
      readonly failure?: string
    }
