/**
 * The gate: turns a claim into a permit or a refusal, and sees handovers through. It knows no HTTP.
 *
 * The invariants are those of ARCHITECTURE.md, "A task's life in the gate"; their numbers stand where each
 * is kept.
 */
import type { Clock } from '../clock.ts'
import type { Refusal } from '../errors.ts'
import { type Change, type Mark, type MarkStore, StoreError, type TaskRecord } from '../store/mark-store.ts'
import { type Claim, NO_TOKEN, type Token } from '../token.ts'
import { Admission, type Attempt, type Ending, NOT_SENT } from './admission.ts'
import { Attempts } from './attempts.ts'
import { decide, decideUnclaimed } from './decision.ts'
import { endingChanges } from './ending-changes.ts'
import { Endings } from './endings.ts'
import type { AllInFlight } from './in-flight.ts'
import { overOpenWrites, overWaiters } from './limits.ts'
import type { GateOptions } from './options.ts'
import { HeldPermit, type Permit } from './permit.ts'
import * as refuse from './refusals.ts'
import { within } from './signal.ts'
import type { Act, ActResult, OperationResult, TaskState } from './task-state.ts'
import { type Gone, Tasks } from './tasks.ts'
import { GateView } from './view.ts'

export class Gate {
  readonly #options: GateOptions
  readonly #store: MarkStore
  readonly #clock: Clock
  readonly #endings: Endings
  readonly attempts: Attempts
  readonly view: GateView
  readonly #tasks: Tasks
  #cancelGrace: (() => void) | undefined

  constructor(options: GateOptions) {
    this.#options = options
    this.#store = options.store
    this.#clock = options.clock
    this.#endings = new Endings(options.store, options.clock)
    this.attempts = new Attempts(options.store, options.clock, options.storeTimeoutMs, this.#endings)
    this.#tasks = new Tasks(options.cachedTasks)
    this.view = new GateView(this.#tasks, options.clock, () => this.inGrace)
    if (options.graceMs > 0) this.#cancelGrace = this.#clock.after(options.graceMs, () => this.#endGrace())
  }

  get inFlight(): AllInFlight {
    return this.#tasks.inFlight
  }

  get inGrace(): boolean {
    return this.#cancelGrace !== undefined
  }

  /** Whether a stop now would leave nothing open that the next start has to wait for. */
  get quiet(): boolean {
    return this.inFlight.size === 0 && !this.inGrace
  }

  /**
   * Asks for the right to send one write. Resolves when the write may be sent or is refused, at the latest
   * after the store and handover time-outs; never rejects for want of a store.
   */
  async admit(admission: Admission): Promise<Permit | Refusal> {
    const task = this.#tasks.enter(admission.claim.task)
    try {
      const admitted = await this.#admitTo(task, admission)
      if ('code' in admitted) admission.permit?.release(NOT_SENT)
      return admitted
    } finally {
      this.#tasks.leave(task)
    }
  }

  /** Raises and hands over without a write: `undefined` once the claim's token is the one that passes. */
  async announce(claim: Claim): Promise<Refusal | undefined> {
    const admitted = await this.admit(new Admission(claim))
    if ('code' in admitted) return admitted
    admitted.release(NOT_SENT)
    return undefined
  }

  /**
   * An operator's act on one task, serialised with everything else that happens to it. It sees the task's committed
   * state. Resolves to the task once the act is durable.
   *
   * Throws {@link StoreError} if the state can't be read or the act not be made durable in time, and what `act` throws.
   */
  async operate(name: string, act: Act): Promise<ActResult> {
    const task = this.#tasks.enter(name)
    task.acts++
    const deadline = this.#clock.now() + this.#options.storeTimeoutMs
    try {
      for (;;) {
        // What others had under way may fail; that is theirs to hear.
        const theirs = task.operation?.then(() => 'done' as const)
        if (theirs || !task.record) {
          await this.#inTime(deadline, theirs ?? this.#load(task))
          continue
        }
        const { effect, operation } = this.#act(task, task.record, act)
        await this.#inTime(deadline, operation)
        return { record: effect.after, open: this.view.open(name) }
      }
    } finally {
      task.acts--
      task.changed.fire()
      this.#tasks.leave(task)
    }
  }

  /** The records of these were changed behind the gate: they are read back before the next decision. */
  forget(gone: Gone): void {
    this.#tasks.forget(gone)
  }

  /** Stops the timers and waits until the endings reported so far are on record. */
  async close(): Promise<void> {
    this.#cancelGrace?.()
    for (const task of this.#tasks.active) task.cancelDrainLimit?.()
    await this.#endings.close()
  }

  async #admitTo(task: TaskState, admission: Admission): Promise<Permit | Refusal> {
    const { handoverTimeoutMs, storeTimeoutMs, maxTokenJump, limits } = this.#options
    const { claim } = admission
    const over = overWaiters(task, claim.token, limits)
    if (over) return refuse.overloaded(claim, over)
    const handoverDeadline = this.#clock.now() + handoverTimeoutMs
    for (;;) {
      // Invariant 1: nothing is decided against a state that is being loaded or replaced.
      if (task.operation) {
        const result = await within(this.#clock, storeTimeoutMs, task.operation)
        if (result === undefined) return refuse.storeUnavailable(claim)
        if (result !== 'done' && claim.token >= result.from) return refuse.storeUnavailable(claim)
        continue
      }
      if (task.acts > 0) {
        // An operator's act goes first, however many requests want a raise.
        await task.changed.wait(this.#clock, storeTimeoutMs)
        continue
      }
      const record = task.record
      if (!record) {
        this.#load(task)
        continue
      }
      const { mark } = record
      const view = { record, lowerOpen: task.lowerOpen || this.inGrace, maxTokenJump }
      const decision = claim.token === NO_TOKEN ? decideUnclaimed(view) : decide(view, claim)
      switch (decision) {
        case 'permit':
          if (!admission.attempt) return this.#permit(task, admission)
          break
        case 'task-frozen':
          return refuse.taskFrozen(claim)
        case 'stale-token':
          if (admission.attempt) await this.attempts.lookUp(admission.attempt)
          return refuse.staleToken(claim, mark.token, admission.attempt?.found)
        case 'token-jump':
          return refuse.tokenJump(claim, mark.token, maxTokenJump as Token)
        case 'token-conflict':
          return refuse.tokenConflict(claim)
        case 'handover-held':
          if (!admission.attempt) return refuse.handoverHeld(claim, record.held)
          break
        case 'settle':
          this.#amend(task, record, { ...mark, complete: true })
          continue
        case 'name':
          this.#amend(task, record, { ...mark, holder: claim.holder })
          continue
        case 'raise':
          if (claim.token > (task.wanted?.claim.token ?? 0n)) task.wanted = admission
          // One turn of the microtask queue: all that waited for the same commit add their tokens first.
          await null
          if (!task.operation && task.record && task.wanted) this.#raise(task, task.record, task.wanted)
          continue
        case 'drain': {
          const left = handoverDeadline - this.#clock.now()
          if (left <= 0) return refuse.handoverPending(claim, !task.lowerOpen)
          if (mark.recorded) await task.changed.wait(this.#clock, left)
          else this.#amend(task, record, mark) // The floor: it holds nobody back before it is on record.
          continue
        }
      }
      const admitted = await this.#permitAttempt(task, admission, admission.attempt, handoverDeadline)
      if (admitted) return admitted
    }
  }

  /** A permit, a refusal, or nothing if another attempt had to be waited for: then the decision is made anew. */
  async #permitAttempt(
    task: TaskState,
    admission: Admission,
    attempt: Attempt,
    deadline: number,
  ): Promise<Permit | Refusal | undefined> {
    const { claim } = admission
    const other = task.inFlight.attemptOf(attempt.id)
    if (other) {
      const left = deadline - this.#clock.now()
      // One that only looks what is on record, or puts its end there, is soon over.
      const open = other.admission.intended && !other.released
      if (open || left <= 0) return refuse.operationInProgress(claim)
      await task.changed.wait(this.#clock, left)
      return undefined
    }
    const permit = await this.#permit(task, admission)
    if ('code' in permit) return permit
    return (await this.attempts.refusal(task, admission)) ?? permit
  }

  async #permit(task: TaskState, admission: Admission): Promise<Permit | Refusal> {
    const over = admission.permit ? undefined : overOpenWrites(task, this.inFlight, this.#options.limits)
    if (over) return refuse.overloaded(admission.claim, over)
    const permit = admission.permit ?? this.#reserve(task, admission)
    if (admission.rule.intent && !admission.intended) {
      const refusal = await this.attempts.intend(admission)
      if (refusal) return refusal
    }
    if (permit.interruption) return permit.interruption
    this.#options.observer.used(task.name)
    return permit as HeldPermit & Permit
  }

  /** Counts the write as open from now on. */
  #reserve(task: TaskState, admission: Admission): HeldPermit {
    const permit = new HeldPermit(this, admission, this.#clock.now())
    admission.permit = permit
    task.inFlight.add(permit)
    return permit
  }

  /** Called by a permit at its release. Invariant 4: it stays open until its ending is durable. */
  released(permit: HeldPermit, ending: Ending, recorded: () => void): void {
    const { admission } = permit
    const closed = () => {
      if (ending.outcome === 'unknown' && admission.rule.holds) {
        const { id, attempt, claim } = admission
        this.#tasks.get(claim.task)?.hold({ id, token: claim.token, operation: attempt?.id })
      }
      this.#closed(permit)
      recorded()
    }
    const changes = endingChanges(admission, ending)
    if (changes.length > 0) this.#endings.record(changes, closed)
    else closed()
  }

  #closed(permit: HeldPermit): void {
    const task = this.#tasks.get(permit.claim.task)
    if (!task) return // It was revoked, and the task has gone idle since.
    task.inFlight.delete(permit)
    if (permit.admission.attempt) task.changed.fire()
    if (task.record && !task.operation) this.#advanceHandover(task, task.record)
    this.#tasks.leaveIfIdle(task)
  }

  #load(task: TaskState): Promise<OperationResult> {
    return this.#run(task, 0n, () => this.#store.load(task.name))
  }

  #raise(task: TaskState, record: TaskRecord, admission: Admission): void {
    const { token, holder } = admission.claim
    const { limits } = this.#options
    const submitted = this.#clock.now()
    const mark = { token, complete: this.#noneBelow(task, token), recorded: true, holder }
    const changes: Change[] = [markChange(task.name, mark)]
    // With nothing to wait for, the first write's intent needs no commit of its own.
    const ready = mark.complete && record.held.length === 0 && !overOpenWrites(task, this.inFlight, limits)
    if (admission.rule.intent && ready && !admission.intended) {
      changes.push({ kind: 'intent', write: admission.record })
      // If the commit fails or is late, its request is refused, and the release takes the intent back.
      admission.intended = true
      this.#reserve(task, admission)
    }
    this.#run(task, record.mark.token + 1n, async () => {
      await this.#store.commit(changes)
      this.#options.observer.raised(this.#clock.now() - submitted)
      task.handoverSince = submitted
      return { ...record, mark }
    })
  }

  /** Invariant 5. While a raise commits nothing lower is permitted: the answer can't turn from yes to no. */
  #noneBelow(task: TaskState, token: Token): boolean {
    return !task.inFlight.hasBelow(token) && !this.inGrace
  }

  #amend(task: TaskState, record: TaskRecord, mark: Mark): void {
    this.#run(task, mark.token, async () => {
      await this.#store.commit([markChange(task.name, mark)])
      return { ...record, mark: { ...mark, recorded: true } }
    })
  }

  #act(task: TaskState, record: TaskRecord, act: Act) {
    const effect = act(record, {
      open: task.inFlight.size,
      inGrace: this.inGrace,
      lowerOpen: (token) => !this.#noneBelow(task, token),
      isAttempted: (key) => task.inFlight.isAttempted(key),
    })
    const { changes, after, before } = effect
    const submitted = this.#clock.now()
    const operation = this.#run(task, 0n, async () => {
      await before?.()
      await this.#store.commit(changes)
      if (after.mark.token > record.mark.token) task.handoverSince = submitted
      return after
    })
    return { effect, operation }
  }

  /** Runs one store operation. Invariant 2: a failure forgets the state, so that it is read back. */
  #run(
    task: TaskState,
    dependentsFrom: Token,
    operation: () => Promise<TaskRecord>,
  ): Promise<OperationResult> {
    task.beginOperation()
    const run = async (): Promise<OperationResult> => {
      let result: OperationResult = 'done'
      try {
        task.record = task.withHeldMeanwhile(await operation())
      } catch {
        task.record = undefined
        result = { from: dependentsFrom }
      }
      task.operation = undefined
      if (task.record) this.#advanceHandover(task, task.record)
      task.changed.fire()
      this.#tasks.leaveIfIdle(task)
      return result
    }
    task.operation = run()
    return task.operation
  }

  /** For operators: a failure or a time-out is an error, not a refusal. */
  async #inTime(deadline: number, operation: Promise<OperationResult>): Promise<OperationResult> {
    const result = await within(this.#clock, Math.max(0, deadline - this.#clock.now()), operation)
    if (result !== 'done') throw new StoreError("the task's state could not be read or written in time")
    return result
  }

  /** After a commit or an ending: takes the handover to the mark's token as far as it will go. */
  #advanceHandover(task: TaskState, record: TaskRecord): void {
    const { mark, frozen } = record
    if (frozen) {
      task.revokeBelow(mark.token + 1n, refuse.taskFrozen)
      for (const permit of task.inFlight.all) {
        if (permit.admission.rule.standing) permit.interrupt(refuse.taskFrozen(permit.claim))
      }
    }
    if (mark.complete || !mark.recorded) {
      if (task.handoverSince !== undefined) {
        this.#options.observer.handedOver(this.#clock.now() - task.handoverSince, task.name, mark.token)
      }
      task.handedOver()
      return
    }
    // Invariant 3: the mark is durable, so what has not begun can't begin any more.
    task.revokeBelow(mark.token, (claim) =>
      claim.token === NO_TOKEN ? refuse.handoverPending(claim, false) : refuse.staleToken(claim, mark.token),
    )
    if (task.lowerOpen) {
      this.#sever(task, (admission) => admission.rule.handover === 'abort')
      task.cancelDrainLimit ??= this.#clock.after(this.#options.drainLimitMs, () => {
        task.cancelDrainLimit = undefined
        this.#sever(task, () => true)
      })
      return
    }
    // The drain is over: put that on record before anybody relies on it (a load says nothing of a drain).
    if (task.handoverSince !== undefined && !this.inGrace && !task.operation) {
      this.#amend(task, record, { ...mark, complete: true })
    }
    task.changed.fire()
  }

  /** Cuts lower writes off: at once where their route aborts, after `drainLimit` in any case. */
  #sever(task: TaskState, which: (admission: Admission) => boolean): void {
    const highest = task.record?.mark.token
    if (highest === undefined) return // Reading it back starts the limit anew.
    for (const permit of task.inFlight.below(highest)) {
      if (which(permit.admission)) permit.interrupt(refuse.superseded(permit.claim, highest))
    }
  }

  #endGrace(): void {
    this.#cancelGrace = undefined
    for (const task of this.#tasks.active) task.changed.fire()
  }
}

function markChange(task: string, { token, complete, holder }: Mark): Change {
  return { kind: 'mark', task, token, complete, holder }
}
