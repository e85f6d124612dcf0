/** What can happen in the faulty world, and how one world differs from another. */
import { NO_WRITE, type Outcome, type WriteRule } from '../../src/gate/admission.ts'
import type { Token } from '../../src/token.ts'
import type { AttemptStep, ClientStep } from './faulty-attempts.ts'
import type { ActStep } from './faulty-operator.ts'
import type { Limits } from './faulty-oracle.ts'
import type { Fate } from './memory-mark-store.ts'

export interface WorldOptions extends Limits {
  readonly tasks: number
  readonly cachedTasks: number
  readonly floor: Token
  /** Whether a sender that is interrupted lets go within the call, as a destroyed socket may. */
  readonly promptSenders: boolean
  /** Whether the first process records an intent for every write. */
  readonly intentsComplete: boolean
}

/** What routes can say; `hold` implies intents, and never goes with `abort`. */
export const RULES: readonly WriteRule[] = [
  NO_WRITE,
  { handover: 'drain', holds: false, intent: true, standing: false },
  { handover: 'drain', holds: true, intent: true, standing: false },
  { handover: 'abort', holds: false, intent: false, standing: false },
  { handover: 'abort', holds: false, intent: true, standing: false },
  { handover: 'abort', holds: false, intent: false, standing: true },
]

/** One thing that happens. `pick` chooses among what there is, modulo its number. */
export type Step =
  | {
      readonly kind: 'admit'
      readonly pick: number
      readonly above: number
      readonly rule: number
      readonly holder: string | undefined
    }
  | {
      readonly kind: 'announce'
      readonly pick: number
      readonly above: number
      readonly holder: string | undefined
    }
  | ActStep
  | AttemptStep
  | ClientStep
  | { readonly kind: 'begin'; readonly pick: number }
  | { readonly kind: 'release'; readonly pick: number; readonly outcome: Outcome }
  | { readonly kind: 'serve'; readonly pick: number; readonly fate: Fate }
  /** All of the store's operations end well, so many times in a row. */
  | { readonly kind: 'flow'; readonly rounds: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'pause'; readonly ms: number }
  | {
      readonly kind: 'crash'
      readonly durable: number
      readonly downMs: number
      readonly intentsComplete: boolean
    }
  | { readonly kind: 'stop'; readonly intentsComplete: boolean }

export function pick<T>(from: readonly T[], index: number): T | undefined {
  return from.length === 0 ? undefined : from[index % from.length]
}
