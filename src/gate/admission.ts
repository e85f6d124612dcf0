/** One request's way through the gate: what it claims, what it would send, and by which rule. */
import { randomUUID } from 'node:crypto'
import type { UnknownReason, WriteFacts, WriteRecord } from '../journal/records.ts'
import type { Claim } from '../token.ts'
import type { HeldPermit } from './permit.ts'

/** What the route on which a write is sent says of it. */
export interface WriteRule {
  /** Whether a handover waits for the write (`drain`) or cuts it off (`abort`). */
  readonly handover: 'drain' | 'abort'
  /** Whether an unknown outcome keeps the next holder out until it is resolved. */
  readonly holds: boolean
  /** Whether an intent is durable before the write is sent. */
  readonly intent: boolean
  /** Whether it stands open for more writes after its answer, as an upgraded connection does: a freeze cuts it off. */
  readonly standing: boolean
}

/** The rule of what sends nothing. */
export const NO_WRITE: WriteRule = { handover: 'drain', holds: false, intent: false, standing: false }

/** How a write ended. */
export type Ending =
  /** The resource's whole answer is known. */
  | { readonly outcome: 'answered' }
  /** No byte of it left. */
  | { readonly outcome: 'not-sent' }
  /** Bytes left, and what became of them can't be told. */
  | { readonly outcome: 'unknown'; readonly reason: UnknownReason; readonly bytesSent: number }

export type Outcome = Ending['outcome']

const NO_FACTS: WriteFacts = { route: '', method: '', target: '', operation: undefined }

export class Admission {
  readonly claim: Claim
  readonly facts: WriteFacts
  readonly rule: WriteRule
  /** Whether an intent for it was submitted, and so has to be ended. */
  intended = false
  /** Its permit, from before its intent is submitted until it is released. */
  permit: HeldPermit | undefined
  readonly #admittedAtMs = Date.now()
  #id: string | undefined

  constructor(claim: Claim, rule = NO_WRITE, facts = NO_FACTS) {
    this.claim = claim
    this.rule = rule
    this.facts = facts
  }

  /** Names the write on record; made only for writes that get there. */
  get id(): string {
    this.#id ??= randomUUID()
    return this.#id
  }

  get record(): WriteRecord {
    const { task, token, holder } = this.claim
    const { id, facts, rule } = this
    return { ...facts, id, task, token, holder, holds: rule.holds, admittedAtMs: this.#admittedAtMs }
  }
}
