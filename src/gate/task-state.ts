/**
 * What the gate holds in memory of one task that is in use.
 *
 * Invariants: `mark` is what the store confirmed, or undefined while that isn't known; at most one operation
 * is under way; a task is dropped only when `idle`.
 */
import type { Mark } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import { type AllInFlight, TaskInFlight } from './in-flight.ts'
import { Signal } from './signal.ts'

/** A store operation that failed: requests with a token of at least `from` depended on it. */
export interface OperationFault {
  readonly from: Token
}

/** How a store operation ended; it never rejects. */
export type OperationResult = 'done' | OperationFault

export class TaskState {
  readonly name: string
  readonly inFlight: TaskInFlight
  /** Fires when a request that waits for lower writes should decide again. */
  readonly changed = new Signal()
  mark: Mark | undefined
  /** The load, raise or settle under way. */
  operation: Promise<OperationResult> | undefined
  /** The highest token that asked for a raise which hasn't been submitted; 0 if none. */
  wanted: Token = 0n
  /** Requests inside the gate. */
  requests = 0
  /** Monotonic milliseconds at which the raise was submitted whose handover isn't complete. */
  handoverSince: number | undefined
  cancelDrainLimit: (() => void) | undefined

  constructor(name: string, mark: Mark | undefined, all: AllInFlight) {
    this.name = name
    this.mark = mark
    this.inFlight = new TaskInFlight(all)
  }

  /** Whether the handover to the mark's token waits for a lower write. */
  get lowerOpen(): boolean {
    return this.mark !== undefined && this.inFlight.hasBelow(this.mark.token)
  }

  get idle(): boolean {
    return this.requests === 0 && this.operation === undefined && this.inFlight.size === 0
  }

  /** Ends the watch over a handover. */
  handedOver(): void {
    this.handoverSince = undefined
    this.cancelDrainLimit?.()
    this.cancelDrainLimit = undefined
  }
}
