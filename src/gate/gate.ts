/**
 * The gate: turns a claim into a permit or a refusal, and sees handovers through. It knows no HTTP.
 *
 * The invariants are those of ARCHITECTURE.md, "A task's life in the gate"; their numbers stand where each
 * is kept.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Refusal } from '../errors.ts'
import type { Mark, MarkStore } from '../store/mark-store.ts'
import type { Claim, Token } from '../token.ts'
import { decide } from './decision.ts'
import { AllInFlight } from './in-flight.ts'
import { HeldPermit, type Permit } from './permit.ts'
import { handoverPending, staleToken, storeUnavailable, superseded, tokenJump } from './refusals.ts'
import { within } from './signal.ts'
import { type OperationResult, TaskState } from './task-state.ts'

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
  /** Marks of idle tasks kept in memory, at most. */
  readonly cachedTasks: number
  readonly maxTokenJump: Token | undefined
  readonly observer: GateObserver
}

/** What the gate tells of its work, for metrics. */
export interface GateObserver {
  /** A raise became durable, `ms` milliseconds after it was submitted. */
  raised(ms: number): void
  /** A handover is complete and on record, `ms` milliseconds after its raise was submitted. */
  handedOver(ms: number): void
}

export class Gate {
  readonly inFlight = new AllInFlight()
  readonly #options: GateOptions
  readonly #store: MarkStore
  readonly #clock: Clock
  readonly #active = new Map<string, TaskState>()
  readonly #idleMarks: LRUCache<string, Mark>
  #cancelGrace: (() => void) | undefined

  constructor(options: GateOptions) {
    this.#options = options
    this.#store = options.store
    this.#clock = options.clock
    this.#idleMarks = new LRUCache({ max: options.cachedTasks })
    if (options.graceMs > 0) this.#cancelGrace = this.#clock.after(options.graceMs, () => this.#endGrace())
  }

  /** Whether an unclean stop is still being waited out. */
  get inGrace(): boolean {
    return this.#cancelGrace !== undefined
  }

  /** Tasks whose new holder has to wait. */
  get handoversPending(): number {
    let pending = 0
    for (const { mark, lowerOpen } of this.#active.values()) {
      if (mark?.recorded && !mark.complete && (lowerOpen || this.inGrace)) pending++
    }
    return pending
  }

  /** Whether a stop now would leave nothing open that the next start has to wait for. */
  get quiet(): boolean {
    return this.inFlight.size === 0 && !this.inGrace
  }

  /**
   * Asks for the right to send one write. Resolves when the write may be sent or is refused, at the latest
   * after the store and handover time-outs; never rejects for want of a store.
   */
  async admit(claim: Claim): Promise<Permit | Refusal> {
    const task = this.#enter(claim.task)
    try {
      return await this.#admitTo(task, claim)
    } finally {
      task.requests--
      this.#leaveIfIdle(task)
    }
  }

  /** Stops the timers. Permits that are still out may be released later. */
  close(): void {
    this.#cancelGrace?.()
    for (const task of this.#active.values()) task.cancelDrainLimit?.()
  }

  async #admitTo(task: TaskState, claim: Claim): Promise<Permit | Refusal> {
    const { handoverTimeoutMs, storeTimeoutMs, maxTokenJump } = this.#options
    const handoverDeadline = this.#clock.now() + handoverTimeoutMs
    for (;;) {
      // Invariant 1: nothing is decided against a mark that is being loaded or replaced.
      if (task.operation) {
        const result = await within(this.#clock, storeTimeoutMs, task.operation)
        if (result === undefined) return storeUnavailable(claim)
        if (result !== 'done' && claim.token >= result.from) return storeUnavailable(claim)
        continue
      }
      const mark = task.mark
      if (!mark) {
        this.#load(task)
        continue
      }
      switch (decide({ mark, lowerOpen: task.lowerOpen || this.inGrace, maxTokenJump }, claim.token)) {
        case 'permit':
          return this.#permit(task, claim)
        case 'stale-token':
          return staleToken(claim, mark.token)
        case 'token-jump':
          return tokenJump(claim, mark.token, maxTokenJump as Token)
        case 'settle':
          this.#settle(task, mark)
          continue
        case 'raise':
          if (claim.token > task.wanted) task.wanted = claim.token
          // One turn of the microtask queue: all that waited for the same commit add their tokens first.
          await null
          if (!task.operation && task.wanted > 0n) this.#raise(task)
          continue
        case 'drain': {
          const left = handoverDeadline - this.#clock.now()
          if (left <= 0) return handoverPending(claim, !task.lowerOpen)
          await task.changed.wait(this.#clock, left)
        }
      }
    }
  }

  #permit(task: TaskState, claim: Claim): Permit {
    const permit = new HeldPermit(this, claim, this.#clock.now())
    task.inFlight.add(permit)
    return permit as HeldPermit & Permit
  }

  /** Called by a permit at its release. */
  released(permit: HeldPermit): void {
    const task = this.#active.get(permit.claim.task)
    if (!task) return // It was revoked, and the task has gone idle since.
    task.inFlight.delete(permit)
    if (task.mark && !task.operation) this.#advanceHandover(task, task.mark)
    this.#leaveIfIdle(task)
  }

  #load(task: TaskState): void {
    this.#run(task, 0n, () => this.#store.load(task.name))
  }

  #raise(task: TaskState): void {
    const token = task.wanted
    const above = task.mark?.token ?? 0n
    const submitted = this.#clock.now()
    // Invariant 5. While this commits nothing lower is permitted, so the answer can't change from yes to no.
    const complete = !task.inFlight.hasBelow(token) && !this.inGrace
    this.#run(task, above + 1n, async () => {
      await this.#store.record(task.name, token, complete)
      this.#options.observer.raised(this.#clock.now() - submitted)
      task.handoverSince = submitted
      return { token, complete, recorded: true }
    })
  }

  #settle(task: TaskState, mark: Mark): void {
    this.#run(task, mark.token, async () => {
      await this.#store.record(task.name, mark.token, true)
      return { token: mark.token, complete: true, recorded: true }
    })
  }

  /** Runs one store operation. Invariant 2: a failure forgets the mark, so that it is read back. */
  #run(task: TaskState, dependentsFrom: Token, operation: () => Promise<Mark>): void {
    task.wanted = 0n // Whoever still wants a raise when this is over asks again.
    const run = async (): Promise<OperationResult> => {
      let result: OperationResult = 'done'
      try {
        task.mark = await operation()
      } catch {
        task.mark = undefined
        result = { from: dependentsFrom }
      }
      task.operation = undefined
      if (task.mark) this.#advanceHandover(task, task.mark)
      task.changed.fire()
      this.#leaveIfIdle(task)
      return result
    }
    task.operation = run()
  }

  /** After a commit or a release: takes the handover to the mark's token as far as it will go. */
  #advanceHandover(task: TaskState, mark: Mark): void {
    if (mark.complete) {
      if (task.handoverSince !== undefined) {
        this.#options.observer.handedOver(this.#clock.now() - task.handoverSince)
      }
      task.handedOver()
      return
    }
    // Invariant 3: the mark is durable, so what has not begun can't begin any more.
    for (const permit of task.inFlight.below(mark.token)) {
      if (permit.revoke(staleToken(permit.claim, mark.token))) task.inFlight.delete(permit)
    }
    if (task.lowerOpen) {
      task.cancelDrainLimit ??= this.#clock.after(this.#options.drainLimitMs, () => this.#sever(task))
      return
    }
    // The drain is over: put that on record before anybody relies on it (a load says nothing of a drain).
    if (task.handoverSince !== undefined && !this.inGrace && !task.operation) this.#settle(task, mark)
    task.changed.fire()
  }

  /** The successor has waited for `drainLimit`: whoever is still open is cut off. */
  #sever(task: TaskState): void {
    task.cancelDrainLimit = undefined
    const highest = task.mark?.token
    if (highest === undefined) return // Reading it back starts the limit anew.
    for (const permit of task.inFlight.below(highest)) permit.interrupt(superseded(permit.claim, highest))
  }

  #endGrace(): void {
    this.#cancelGrace = undefined
    for (const task of this.#active.values()) task.changed.fire()
  }

  #enter(name: string): TaskState {
    let task = this.#active.get(name)
    if (!task) {
      task = new TaskState(name, this.#idleMarks.get(name), this.inFlight)
      this.#active.set(name, task)
    }
    task.requests++
    return task
  }

  /** Invariant 6: only an idle task leaves; what is known of its mark moves to the bounded cache. */
  #leaveIfIdle(task: TaskState): void {
    if (!task.idle || this.#active.get(task.name) !== task) return
    task.cancelDrainLimit?.()
    this.#active.delete(task.name)
    if (task.mark) this.#idleMarks.set(task.name, task.mark)
    else this.#idleMarks.delete(task.name)
  }
}
