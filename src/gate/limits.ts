/**
 * How much the gate takes on at once.
 *
 * Invariant: no number of requests keeps a higher token from being recorded. Open writes are counted only where a
 * permit would be given, behind the raise, when no lower write of the task is open any more; and a token above all
 * that wait may always wait too.
 */
import type { Token } from '../token.ts'
import type { AllInFlight } from './in-flight.ts'
import type { TaskState } from './task-state.ts'

export interface GateLimits {
  /** Open writes of all tasks. */
  readonly openWrites: number
  readonly openWritesPerTask: number
  /** Requests of one task that wait in the gate. */
  readonly waitersPerTask: number
}

/** The limit that one more request in the gate is over, if any; it has been counted among the task's users. */
export function overWaiters(task: TaskState, token: Token, limits: GateLimits): keyof GateLimits | undefined {
  const supersedes = token > task.newest
  if (supersedes && task.operation) task.newestMeanwhile = token
  return supersedes || task.users <= limits.waitersPerTask ? undefined : 'waitersPerTask'
}

/** The limit that one more open write would be over, if any. */
export function overOpenWrites(
  task: TaskState,
  all: AllInFlight,
  limits: GateLimits,
): keyof GateLimits | undefined {
  if (task.inFlight.size >= limits.openWritesPerTask) return 'openWritesPerTask'
  return all.size >= limits.openWrites ? 'openWrites' : undefined
}
