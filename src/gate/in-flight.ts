/**
 * The open writes of one task, and the count of all.
 *
 * Invariant: a permit is in here from the decision until it is released or revoked, and nowhere else is
 * openness kept.
 */
import type { Token } from '../token.ts'
import type { HeldPermit } from './permit.ts'

/** Open writes of every task, oldest first. */
export class AllInFlight {
  readonly #permits = new Set<HeldPermit>()

  get size(): number {
    return this.#permits.size
  }

  /** Monotonic milliseconds since which the oldest open write has been open. */
  get oldestSince(): number | undefined {
    for (const permit of this.#permits) return permit.since
    return undefined
  }

  add(permit: HeldPermit): void {
    this.#permits.add(permit)
  }

  delete(permit: HeldPermit): void {
    this.#permits.delete(permit)
  }
}

/** Open writes of one task. */
export class TaskInFlight {
  readonly #all: AllInFlight
  readonly #permits = new Set<HeldPermit>()

  constructor(all: AllInFlight) {
    this.#all = all
  }

  get size(): number {
    return this.#permits.size
  }

  add(permit: HeldPermit): void {
    this.#permits.add(permit)
    this.#all.add(permit)
  }

  delete(permit: HeldPermit): void {
    this.#permits.delete(permit)
    this.#all.delete(permit)
  }

  get all(): HeldPermit[] {
    return [...this.#permits]
  }

  /** Whether a write with a token below `token` is open. */
  hasBelow(token: Token): boolean {
    for (const permit of this.#permits) if (permit.claim.token < token) return true
    return false
  }

  /** The open attempt of this operation. */
  attemptOf(operation: string): HeldPermit | undefined {
    for (const permit of this.#permits) if (permit.admission.attempt?.id === operation) return permit
    return undefined
  }

  /** Whether an attempt with this operation key is open. */
  isAttempted(key: string): boolean {
    for (const { admission } of this.#permits)
      if (admission.attempt && admission.facts.operation === key) return true
    return false
  }

  /** The open writes with a token below `token`. */
  below(token: Token): HeldPermit[] {
    return [...this.#permits].filter((permit) => permit.claim.token < token)
  }
}
