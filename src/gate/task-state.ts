/**
 * What the gate holds in memory of one task that is in use.
 *
 * Invariants: `record` is what the store confirmed, or undefined while that isn't known; at most one
 * operation is under way; a task is dropped only when `idle`.
 */
import type { Refusal } from '../errors.ts'
import type { Change, HeldWrite, TaskRecord } from '../store/mark-store.ts'
import type { Claim, Token } from '../token.ts'
import type { Admission } from './admission.ts'
import { type AllInFlight, TaskInFlight } from './in-flight.ts'
import { Signal } from './signal.ts'
import type { OpenWrite } from './view.ts'

/** A store operation that failed: requests with a token of at least `from` depended on it. */
export interface OperationFault {
  readonly from: Token
}

/** What an operator's act does to a task: the changes to commit, and the task's state after them. */
export interface Effect {
  readonly changes: readonly Change[]
  readonly after: TaskRecord
  /** What has to hold when nothing else can happen to the task any more; if it rejects, nothing is changed. */
  readonly before?: () => Promise<void>
}

/** What of a task is under way while an operator's act decides. */
export interface TaskAtWork {
  /** Open writes. */
  readonly open: number
  readonly inGrace: boolean
  /** Whether a write with a token below this one may be open. */
  lowerOpen(token: Token): boolean
  /** Whether there is an open attempt with this operation key. */
  isAttempted(key: string): boolean
}

export type Act = (record: TaskRecord, atWork: TaskAtWork) => Effect

/** A task right after an act. */
export interface ActResult {
  readonly record: TaskRecord
  readonly open: readonly OpenWrite[]
}

/** How a store operation ended; it never rejects. */
export type OperationResult = 'done' | OperationFault

export class TaskState {
  readonly name: string
  readonly inFlight: TaskInFlight
  /** Fires when a request that waits for lower writes should decide again. */
  readonly changed = new Signal()
  record: TaskRecord | undefined
  /** The load or commit under way. */
  operation: Promise<OperationResult> | undefined
  /** The request with the highest token that asked for a raise which hasn't been submitted. */
  wanted: Admission | undefined
  /** The highest token that came during the operation under way, or that it raises the mark to. */
  newestMeanwhile: Token = 0n
  /** Requests and operators inside the gate. */
  users = 0
  /** Operators' acts that are under way or wait their turn. */
  acts = 0
  /** Monotonic milliseconds at which the raise was submitted whose handover isn't complete. */
  handoverSince: number | undefined
  cancelDrainLimit: (() => void) | undefined
  /** Held writes that became durable during the operation under way, which may not have seen them. */
  #heldMeanwhile: HeldWrite[] = []
  #outdated = false

  constructor(name: string, record: TaskRecord | undefined, all: AllInFlight) {
    this.name = name
    this.record = record
    this.inFlight = new TaskInFlight(all)
  }

  /** Whether the handover to the mark's token waits for a lower write. */
  get lowerOpen(): boolean {
    return this.record !== undefined && this.inFlight.hasBelow(this.record.mark.token)
  }

  /** The highest token known of: one above it waits for something that nobody else has asked for. */
  get newest(): Token {
    const asked = this.operation ? this.newestMeanwhile : (this.wanted?.claim.token ?? 0n)
    const highest = this.record?.mark.token ?? 0n
    return asked > highest ? asked : highest
  }

  get idle(): boolean {
    return this.users === 0 && this.operation === undefined && this.inFlight.size === 0
  }

  /** An unknown write of a route that holds is durable now. */
  hold(write: HeldWrite): void {
    if (this.operation) this.#heldMeanwhile.push(write)
    else if (this.record) this.record = { ...this.record, held: [...this.record.held, write] }
  }

  beginOperation(): void {
    this.#heldMeanwhile = []
    this.#outdated = false
    this.newestMeanwhile = this.wanted?.claim.token ?? 0n
    this.wanted = undefined // Whoever still wants a raise when this is over asks again.
  }

  /** Its record was changed by no operation of its own. */
  outdate(): void {
    if (this.operation) this.#outdated = true
    else this.record = undefined
    this.changed.fire()
  }

  /** What an operation ended with, and what was held while it ran; nothing if the record was changed meanwhile. */
  withHeldMeanwhile(record: TaskRecord): TaskRecord | undefined {
    if (this.#outdated) return undefined
    const known = new Set(record.held.map(({ id }) => id))
    const held = this.#heldMeanwhile.filter(({ id }) => !known.has(id))
    return held.length === 0 ? record : { ...record, held: [...record.held, ...held] }
  }

  /** Takes permits below `token` back, if nothing was sent on them. One with an intent is open until its release. */
  revokeBelow(token: Token, refusal: (claim: Claim) => Refusal): void {
    for (const permit of this.inFlight.below(token)) {
      if (permit.revoke(refusal(permit.claim)) && !permit.admission.intended) this.inFlight.delete(permit)
    }
  }

  /** Ends the watch over a handover. */
  handedOver(): void {
    this.handoverSince = undefined
    this.cancelDrainLimit?.()
    this.cancelDrainLimit = undefined
  }
}
