/**
 * What the record says of each operation of a task, told from all of its attempts, by whomever they were made.
 *
 * An attempt was *applied* if a final 2xx answer is on record, or somebody found out that it was. What was compensated
 * is not applied any more; any other answer, and what was not sent, did nothing that is known.
 *
 * Invariant: an operation of which more than one application is possible is never `applied`.
 */
import type { ListedAttempt, OperationState } from './operations.ts'

/**
 * `conflicting`: applied twice, or applied while another attempt's outcome is unknown. `failed`: no attempt of it is
 * known to have been applied, and of none is it unknown.
 */
export type Verdict = 'applied' | 'compensated' | 'open' | 'unknown' | 'conflicting' | 'failed'

export const VERDICTS: readonly Verdict[] = [
  'applied',
  'compensated',
  'open',
  'unknown',
  'conflicting',
  'failed',
]

/** What of an attempt is needed here. */
export type Attempt = Omit<ListedAttempt, 'seq' | 'operation' | 'endedAtMs'>

const NONE: Attempt[] = []

export class ReconciledOperation {
  readonly scope: string
  readonly key: string
  readonly providerKey: string
  /** As it was when its record was read; attempts may be newer. */
  readonly state: OperationState
  #attempts = NONE

  constructor({
    scope,
    key,
    providerKey,
    state,
  }: Readonly<Record<'scope' | 'key' | 'providerKey', string>> & { state: OperationState }) {
    this.scope = scope
    this.key = key
    this.providerKey = providerKey
    this.state = state
  }

  /** In the order in which they were made. */
  get attempts(): readonly Attempt[] {
    return this.#attempts
  }

  add(attempt: Attempt): void {
    // Most have one: an empty array would grow to room for many.
    if (this.#attempts === NONE) this.#attempts = [attempt]
    else this.#attempts.push(attempt)
  }

  get verdict(): Verdict {
    const attempts = this.#attempts
    if (attempts.some(({ outcome }) => outcome === 'open')) return 'open'
    const applied = attempts.filter(wasApplied).length
    const doubtful = attempts.some(isDoubtful)
    if (applied > 1 || (applied === 1 && doubtful)) return 'conflicting'
    if (applied === 1) return 'applied'
    if (doubtful) return 'unknown'
    return attempts.some(({ resolution }) => resolution === 'compensated') ? 'compensated' : 'failed'
  }

  /** Its entry in the canonical list: the attempt whose final answer is on record, else the first that was found out. */
  get canonical(): Attempt | undefined {
    return (
      this.#attempts.find((attempt) => attempt.final && wasApplied(attempt)) ??
      this.#attempts.find(wasApplied)
    )
  }

  /** Whether it was attempted with different tokens, or by holders of different names. */
  get byTwoHolders(): boolean {
    const [first, ...rest] = this.#attempts
    const named = this.#attempts.find(({ holder }) => holder !== undefined)?.holder
    return rest.some(
      ({ token, holder }) => token !== first?.token || (holder !== undefined && holder !== named),
    )
  }

  /**
   * Whether retention is taking it off the record: what made it done isn't there any more. An attempt that isn't
   * settled is never forgotten, so one that is there ended since the operation was read.
   */
  get isBeingForgotten(): boolean {
    const attempts = this.#attempts
    if (attempts.length === 0) return true
    const explained = attempts.some(({ final, outcome, resolution }) => {
      return final || outcome === 'open' || (outcome === 'unknown' && resolution !== 'not-applied')
    })
    return this.state === 'done' && !explained
  }
}

function wasApplied({ final, status, resolution }: Attempt): boolean {
  return resolution === 'applied' || (final && status !== undefined && status >= 200 && status < 300)
}

/** Nobody knows what became of it. */
export function isDoubtful({ outcome, resolution }: Attempt): boolean {
  return outcome === 'unknown' && resolution === undefined
}

/**
 * Gathers a task's record: first its operations, then its attempts, each in order. Attempts of operations that began
 * after the operations were read are left out, as if everything had been read then.
 */
export class Reconciliation {
  /** By scope, then by key. */
  readonly #scopes = new Map<string, Map<string, ReconciledOperation>>()

  addOperation(listed: ConstructorParameters<typeof ReconciledOperation>[0]): void {
    const operation = new ReconciledOperation(listed)
    const ofScope = this.#scopes.get(operation.scope)
    if (ofScope) ofScope.set(operation.key, operation)
    else this.#scopes.set(operation.scope, new Map([[operation.key, operation]]))
  }

  addAttempt(scope: string, key: string, attempt: Attempt): void {
    this.#scopes.get(scope)?.get(key)?.add(attempt)
  }

  /** By scope, in the order of their first attempts; without those that are being forgotten. */
  *operations(): Generator<ReconciledOperation> {
    for (const operation of this.#all()) if (!operation.isBeingForgotten) yield operation
  }

  /** How many of the task's operations are left out, since they are being forgotten. */
  get beingForgotten(): number {
    let count = 0
    for (const operation of this.#all()) if (operation.isBeingForgotten) count++
    return count
  }

  *#all(): Generator<ReconciledOperation> {
    for (const ofScope of this.#scopes.values()) yield* ofScope.values()
  }
}
