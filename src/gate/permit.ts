/**
 * A permit is the right to send one write now. Only the gate makes one, sending requires one, and it is
 * released exactly once.
 *
 * ```
 *            begin()                 release(outcome)
 *   held ───────────────▶ begun ───────────────────────▶ released
 *     └── a durable raise ──▶ revoked ── release() ─────────▲
 * ```
 *
 * Invariants: `begin` succeeds at most once and never after a revocation; a begun permit is never revoked,
 * only interrupted, and stays open until its sender releases it.
 */
import { InvariantError, type Refusal } from '../errors.ts'
import type { Claim } from '../token.ts'

/**
 * How a write ended. `answered`: the resource's whole answer is known. `not-sent`: no byte of it left.
 * `unknown`: bytes left, and no whole answer came.
 */
export type Outcome = 'answered' | 'not-sent' | 'unknown'

/** Where the gate learns that a permit is gone. */
export interface PermitOwner {
  released(permit: HeldPermit, outcome: Outcome): void
}

export class HeldPermit {
  readonly claim: Claim
  /** Monotonic milliseconds of the decision. */
  readonly since: number
  readonly #owner: PermitOwner
  #state: 'held' | 'begun' | 'revoked' | 'released' = 'held'
  #interrupt: ((refusal: Refusal) => void) | undefined
  #interruption: Refusal | undefined

  constructor(owner: PermitOwner, claim: Claim, since: number) {
    this.#owner = owner
    this.claim = claim
    this.since = since
  }

  /** Whether bytes of the write may have left. */
  get begun(): boolean {
    return this.#state === 'begun'
  }

  /**
   * The last check, made synchronously before the first byte is written: true exactly once, and then the
   * write counts as sent. False if a higher token was recorded since the decision.
   */
  begin(): boolean {
    if (this.#state !== 'held') return false
    this.#state = 'begun'
    return true
  }

  /**
   * Tells the sender that it must stop: at most one call, with what the client is to be told. A permit that
   * has not begun can't begin any more; one that has must have its upstream connection destroyed.
   */
  onInterrupt(callback: (refusal: Refusal) => void): void {
    if (this.#interruption) callback(this.#interruption)
    else this.#interrupt = callback
  }

  /** The end. Throws {@link InvariantError} on a second call, or on `not-sent` after `begin`. */
  release(outcome: Outcome): void {
    if (this.#state === 'released') throw new InvariantError(`permit of ${this.claim.task} released twice`)
    if (this.#state === 'begun' && outcome === 'not-sent') {
      throw new InvariantError(`permit of ${this.claim.task} began and was released as not sent`)
    }
    this.#state = 'released'
    this.#owner.released(this, outcome)
  }

  /** For the gate: takes the right back if nothing was sent. False if the write has begun. */
  revoke(refusal: Refusal): boolean {
    if (this.#state !== 'held') return false
    this.#state = 'revoked'
    this.interrupt(refusal)
    return true
  }

  /** For the gate: asks the sender to end now. */
  interrupt(refusal: Refusal): void {
    if (this.#interruption) return
    this.#interruption = refusal
    this.#interrupt?.(refusal)
  }
}

declare const fromGate: unique symbol

/**
 * The only value that opens `proxy/fenced-write.ts`. The brand keeps other code from making one: the gate
 * alone casts to it.
 */
export type Permit = Pick<HeldPermit, 'claim' | 'begin' | 'begun' | 'onInterrupt' | 'release'> & {
  readonly [fromGate]: true
}
