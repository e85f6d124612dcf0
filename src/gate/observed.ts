/**
 * Observe mode: the write is permitted at once, and the real gate decides in its shadow. The shadow records
 * marks and finds what would have been refused; it never delays, refuses or cuts the write.
 *
 * Invariant: a permit that the shadow got is released when the write ends, or when the gate wants it back.
 */
import type { Refusal } from '../errors.ts'
import { type Claim, NO_TOKEN } from '../token.ts'
import { Admission } from './admission.ts'
import type { Gate } from './gate.ts'
import type { Permit } from './permit.ts'

/**
 * @param verdict called once, with the refusal that enforcing would have given, or `undefined`.
 */
export function observe(gate: Gate, claim: Claim, verdict: (refusal: Refusal | undefined) => void): Permit {
  const permit = new ObservedPermit(claim)
  // Nothing is recorded of the write itself: what an operator would have to resolve must have been enforced.
  void gate.admit(new Admission(claim)).then((admitted) => {
    if ('code' in admitted) return verdict(admitted)
    permit.adopt(admitted, verdict)
  })
  return permit as ObservedPermit & Permit
}

/** A permit for what needs no claim, or has no usable one on a route that only observes. */
export function unclaimed(): Permit {
  return new ObservedPermit({ task: '', token: NO_TOKEN }) as ObservedPermit & Permit
}

class ObservedPermit {
  readonly claim: Claim
  begun = false
  #ended = false
  #shadow: Permit | undefined

  constructor(claim: Claim) {
    this.claim = claim
  }

  adopt(shadow: Permit, verdict: (refusal: Refusal | undefined) => void): void {
    this.#shadow = shadow
    let refusal: Refusal | undefined
    shadow.onInterrupt((interruption) => {
      refusal = interruption
      this.#endShadow()
    })
    if (this.begun) shadow.begin()
    if (this.#ended) this.#endShadow()
    verdict(refusal)
  }

  begin(): boolean {
    this.begun = true
    this.#shadow?.begin()
    return true
  }

  onInterrupt(): void {}

  release(): void {
    this.#ended = true
    this.#endShadow()
  }

  #endShadow(): void {
    const shadow = this.#shadow
    this.#shadow = undefined
    shadow?.release({ outcome: shadow.begun ? 'answered' : 'not-sent' })
  }
}
