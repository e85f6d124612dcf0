/**
 * Attempts of operations, as the gate sees them: what is on record before one is sent.
 *
 * Invariant: an attempt is reserved among the open writes before its operation is looked up, and until its ending is
 * on record; so between the look and the send no other attempt can begin, and none can miss how this one ended.
 */
import type { Clock } from '../clock.ts'
import type { Refusal } from '../errors.ts'
import type { AttemptRecord } from '../journal/operations.ts'
import type { Change, MarkStore } from '../store/mark-store.ts'
import type { Admission, Attempt, OperationAnswer } from './admission.ts'
import { keepsOut } from './decision.ts'
import { attemptEnd } from './ending-changes.ts'
import type { Endings } from './endings.ts'
import * as refuse from './refusals.ts'
import { within } from './signal.ts'
import type { TaskState } from './task-state.ts'

export class Attempts {
  readonly #store: MarkStore
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #endings: Endings

  constructor(store: MarkStore, clock: Clock, timeoutMs: number, endings: Endings) {
    this.#endings = endings
    this.#store = store
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** Finds what is on record of the operation. False if the store doesn't say in time. */
  async lookUp(attempt: Attempt): Promise<boolean> {
    const asked = this.#store.operation(attempt.id).then((found) => ({ found }))
    const answer = await within(this.#clock, this.#timeoutMs, asked).catch(() => undefined)
    attempt.found = answer?.found
    return answer !== undefined
  }

  /**
   * Puts the write's intent on record, and with it the attempt that it is, if it is one: `undefined` once that is
   * durable. Late or failed, it is taken back by the permit's release.
   */
  async intend(admission: Admission, attempt?: AttemptRecord): Promise<Refusal | undefined> {
    // What was revoked while its body came is open no more, and must not look so on record.
    if (admission.permit?.interruption) return admission.permit.interruption
    admission.intended = true
    const changes: Change[] = [{ kind: 'intent', write: admission.record }]
    if (attempt) changes.push({ kind: 'attempt', attempt })
    if (admission.attempt) admission.attempt.record = attempt
    const intend = this.#store.commit(changes).then(() => true)
    const durable = await within(this.#clock, this.#timeoutMs, intend).catch(() => false)
    return admission.permit?.interruption ?? (durable ? undefined : refuse.storeUnavailable(admission.claim))
  }

  /** Puts on record what an attempt was answered with, before the answer has ended. Resolves once it is durable. */
  async recordAnswer({ id, attempt }: Admission, answer: OperationAnswer): Promise<void> {
    if (!attempt) return
    const end = attemptEnd({ outcome: 'answered', answer }, Date.now())
    await new Promise<void>((durable) =>
      this.#endings.record([{ kind: 'attempt-ended', id, operation: attempt.id, end }], durable),
    )
  }

  /** Why a reserved attempt may not go on, or `undefined` if it may: to be sent, or to be answered from the record. */
  async refusal(task: TaskState, { attempt, claim, permit }: Admission): Promise<Refusal | undefined> {
    if (!attempt) return undefined
    if (!(await this.lookUp(attempt))) return refuse.storeUnavailable(claim)
    if (permit?.interruption) return permit.interruption
    if (attempt.found?.state === 'done') return undefined
    // It was lost with a commit that failed meanwhile, and with it what is held.
    if (!task.record) return refuse.storeUnavailable(claim)
    const held = task.record.held.filter((write) => keepsOut(write, claim.token))
    // What the operation itself holds up, its repeat may pass.
    const passes = held.every(({ operation }) => operation === attempt.id)
    return passes ? undefined : refuse.handoverHeld(claim, held)
  }
}
