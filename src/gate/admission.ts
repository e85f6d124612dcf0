/** One request's way through the gate: what it claims, what it would send, and by which rule. */
import { randomUUID } from 'node:crypto'
import type { AttemptRecord, OperationName, OperationRecord, RecordedAnswer } from '../journal/operations.ts'
import { operationId } from '../journal/operations.ts'
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
  /** The resource's whole answer is known; `answer` says what it is for the write's operation, if it has one. */
  | { readonly outcome: 'answered'; readonly answer?: OperationAnswer | undefined }
  /** No byte of it left. */
  | { readonly outcome: 'not-sent' }
  /** Bytes left, and what became of them can't be told. */
  | { readonly outcome: 'unknown'; readonly reason: UnknownReason; readonly bytesSent: number }

export const NOT_SENT: Ending = { outcome: 'not-sent' }

/** What an answer is for an operation. */
export interface OperationAnswer {
  readonly status: number
  /** Whether the operation is done by it. */
  readonly final: boolean
  /** What is kept for replays, if it is final. */
  readonly recorded: RecordedAnswer | undefined
}

export type Outcome = Ending['outcome']

const NO_FACTS: WriteFacts = { route: '', method: '', target: '', operation: undefined }

/** The operation that a write attempts, and what the gate found on record of it. */
export class Attempt {
  readonly name: OperationName
  readonly id: string
  /** Set once the write is admitted: what was on record then. */
  found: OperationRecord | undefined
  /** Set once it is submitted to the store. */
  record: AttemptRecord | undefined

  constructor(name: OperationName) {
    this.name = name
    this.id = operationId(name)
  }
}

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

  /** Undefined for a write that is no attempt of an operation. */
  readonly attempt: Attempt | undefined

  constructor(claim: Claim, rule = NO_WRITE, facts = NO_FACTS, attempt: Attempt | undefined = undefined) {
    this.attempt = attempt
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
