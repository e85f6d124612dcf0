/**
 * A permit is the right to send one write now. Only the gate makes one, sending requires one, and it is
 * released exactly once.
 *
 * ```
 *            begin()                 release(ending)
 *   held ───────────────▶ begun ───────────────────────▶ released
 *     └── raise or freeze ─▶ revoked ── release() ─────────▲
 * ```
 *
 * Invariants: `begin` succeeds at most once and never after a revocation; a begun permit is never revoked,
 * only interrupted, and counts as open until the gate has put its ending on record where it must.
 */
import { InvariantError, type Refusal } from '../errors.ts'
import type { Claim } from '../token.ts'
import type { Admission, Ending } from './admission.ts'

/** Where the gate learns that a permit is done with. */
export interface PermitOwner {
  /** `recorded` is called once the ending is on record, or needs none. */
  released(permit: HeldPermit, ending: Ending, recorded: () => void): void
}

export class HeldPermit {
  readonly admission: Admission
  /** Monotonic milliseconds of the decision. */
  readonly since: number
  readonly #owner: PermitOwner
  #state: 'held' | 'begun' | 'revoked' | 'released' = 'held'
  #begun = false
  #interrupt: ((refusal: Refusal) => void) | undefined
  #interruption: Refusal | undefined

  constructor(owner: PermitOwner, admission: Admission, since: number) {
    this.#owner = owner
    this.admission = admission
    this.since = since
  }

  get claim(): Claim {
    return this.admission.claim
  }

  /** Whether bytes of the write may have left. */
  get begun(): boolean {
    return this.#begun
  }

  /** Whether its write has ended, on record or not yet. */
  get released(): boolean {
    return this.#state === 'released'
  }

  /** What the client is to be told, once the gate has interrupted the write. */
  get interruption(): Refusal | undefined {
    return this.#interruption
  }

  /**
   * The last check, made synchronously before the first byte is written: true exactly once, and then the
   * write counts as sent. False if a higher token was recorded, or the task frozen, since the decision.
   */
  begin(): boolean {
    if (this.#state !== 'held') return false
    this.#state = 'begun'
    this.#begun = true
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

  /** The end; `recorded` is called once it is on record. Throws {@link InvariantError} on a second call, or on `not-sent` after `begin`. */
  release(ending: Ending, recorded: () => void = () => {}): void {
    const { task } = this.claim
    if (this.#state === 'released') throw new InvariantError(`permit of ${task} released twice`)
    if (this.#begun && ending.outcome === 'not-sent') {
      throw new InvariantError(`permit of ${task} began and was released as not sent`)
    }
    this.#state = 'released'
    this.#owner.released(this, ending, recorded)
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
    if (this.#interruption || this.#state === 'released') return
    this.#interruption = refusal
    this.#interrupt?.(refusal)
  }
}

declare const fromGate: unique symbol

/**
 * The only value that opens `proxy/sending.ts`. The brand keeps other code from making one: the gate
 * alone casts to it.
 */
export type Permit = Pick<HeldPermit, 'claim' | 'begin' | 'begun' | 'onInterrupt' | 'release'> & {
  readonly [fromGate]: true
}
