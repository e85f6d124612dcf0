/** What the gate is made with. */
import type { Clock } from '../clock.ts'
import type { MarkStore } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import type { GateLimits } from './limits.ts'

export interface GateOptions {
  readonly store: MarkStore
  readonly clock: Clock
  /** Milliseconds for which a request waits for lower writes before it is told `handover-pending`. */
  readonly handoverTimeoutMs: number
  /** Milliseconds from a durable raise until lower writes still open are cut. */
  readonly drainLimitMs: number
  /** Milliseconds during which no handover completes, counted from construction; 0 after a clean stop. */
  readonly graceMs: number
  /** Milliseconds for which a request waits for the store before it is told `store-unavailable`. */
  readonly storeTimeoutMs: number
  /** States of idle tasks kept in memory, at most. */
  readonly cachedTasks: number
  readonly maxTokenJump: Token | undefined
  readonly limits: GateLimits
  readonly observer: GateObserver
}

/** What the gate tells of its work, for metrics. */
export interface GateObserver {
  /** A raise became durable, `ms` milliseconds after it was submitted. */
  raised(ms: number): void
  /** A handover to this token is complete and on record, `ms` milliseconds after its raise was submitted. */
  handedOver(ms: number, task: string, token: Token): void
  /** A write of the task was permitted. */
  used(task: string): void
}
