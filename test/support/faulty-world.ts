/**
 * The gate in a world of faults: clients, senders, a store and a clock of which every move is made by the
 * test, and judged by an oracle.
 */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { Outcome, Permit } from '../../src/gate/permit.ts'
import type { Token } from '../../src/token.ts'
import { Oracle, type Request, type Rules, type Write } from './faulty-oracle.ts'
import { type Fate, MemoryDisk, MemoryMarkStore, type Operation } from './memory-mark-store.ts'
import { settled, VirtualClock } from './virtual-clock.ts'

export interface WorldOptions extends Rules {
  readonly tasks: number
  readonly graceMs: number
  readonly cachedTasks: number
  readonly floor: Token
  /** Whether a sender that is interrupted lets go within the call, as a destroyed socket may. */
  readonly promptSenders: boolean
}

/** One thing that happens. `pick` chooses among what there is, modulo its number. */
export type Step =
  | { readonly kind: 'admit'; readonly pick: number; readonly above: number }
  | { readonly kind: 'begin'; readonly pick: number }
  | { readonly kind: 'release'; readonly pick: number; readonly outcome: Outcome }
  | { readonly kind: 'serve'; readonly pick: number; readonly fate: Fate }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'pause'; readonly ms: number }
  | { readonly kind: 'crash'; readonly durable: number; readonly downMs: number }
  | { readonly kind: 'stop' }

/** What the worlds of a test have seen, so that it can tell whether it tried anything. */
export type Sightings = Record<string, number>

export class FaultyWorld {
  readonly #options: WorldOptions
  readonly #sightings: Sightings
  readonly #disk: MemoryDisk
  #clock = new VirtualClock()
  #store: MemoryMarkStore
  #gate: Gate
  /** Incremented by each restart: what an earlier process still says is not heard. */
  #process = 0
  readonly #requests = new Set<Request>()
  readonly #oracle: Oracle
  readonly #faults: unknown[] = []

  constructor(options: WorldOptions, sightings: Sightings) {
    this.#options = options
    this.#sightings = sightings
    this.#disk = new MemoryDisk(options.floor)
    this.#oracle = new Oracle(options, this.#disk, () => this.#clock.now())
    this.#store = this.#openStore()
    this.#gate = this.#startGate()
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'admit': {
        const task = `task-${step.pick % this.#options.tasks}`
        const token = this.#disk.mark(task).token + BigInt(step.above)
        if (token >= 1n) this.#admit(task, token)
        break
      }
      case 'begin':
        this.#begin(pick(this.#oracle.in('held'), step.pick))
        break
      case 'release':
        this.#release(pick(this.#oracle.open, step.pick), step.outcome)
        break
      case 'serve':
        this.#serve(pick(this.#store.pending, step.pick), step.fate)
        break
      case 'advance':
        await this.#clock.advance(step.ms)
        break
      case 'pause':
        this.#clock.pause(step.ms)
        break
      case 'crash':
        this.#crash(step.durable, step.downMs)
        break
      case 'stop':
        await this.#stop()
    }
    this.#rethrow()
  }

  /** Lets `turns` turns of the microtask queue pass; without a number, all there are. */
  async turn(turns: number | undefined): Promise<void> {
    if (turns === undefined) await settled()
    else for (let i = 0; i < turns; i++) await null
    this.#rethrow()
    if (turns === undefined) this.#checkOpenWrites()
  }

  /** Everything that can end ends; then nothing may be left. */
  async finish(): Promise<void> {
    const { drainLimitMs, graceMs } = this.#options
    await this.turn(undefined)
    await this.#serveUntilQuiet()
    await this.#clock.advance(graceMs)
    await this.#successorsGetRidOfStalledHolders(drainLimitMs)
    for (const write of this.#oracle.open) this.#release(write, 'unknown')
    await this.#serveUntilQuiet()
    assert.equal(this.#requests.size, 0, 'a request was never answered')
    assert.equal(this.#gate.inFlight.size, 0, 'open writes were counted that had ended')
    assert.equal(this.#gate.quiet, true, 'not quiet at the end')
    assert.equal(this.#gate.handoversPending, 0, 'a handover was counted as pending at the end')
    await this.#currentHoldersPass()
    await this.#idleTasksAreForgotten()
    assert.equal(this.#clock.pending, 0, 'a timer was left behind')
  }

  #openStore(): MemoryMarkStore {
    return new MemoryMarkStore(this.#disk, {
      submitted: (operation) => this.#guard(() => this.#submitted(operation)),
      stored: (task, mark) => this.#guard(() => this.#oracle.stored(task, mark)),
    })
  }

  #startGate(): Gate {
    const { graceMs, ...options } = this.#options
    return new Gate({
      ...options,
      store: this.#store,
      clock: this.#clock,
      graceMs: this.#store.origin.unclean ? graceMs : 0,
      observer: {
        raised: () => this.#saw('raise'),
        handedOver: () => this.#saw('handover'),
      },
    })
  }

  #admit(task: string, token: Token): void {
    const process = this.#process
    const sinceMs = this.#clock.now()
    const request = { task, token, sinceMs, failuresBefore: this.#oracle.failures(task) }
    this.#requests.add(request)
    const answered = (answer: Permit | Refusal) => {
      if (process !== this.#process) return
      this.#requests.delete(request)
      if (!('code' in answer)) return this.#permitted(answer)
      this.#saw(answer.code)
      this.#oracle.refused(request, answer)
    }
    this.#gate.admit({ task, token }).then(
      (answer) => this.#guard(() => answered(answer)),
      (error) => this.#faults.push(error),
    )
  }

  #permitted(permit: Permit): void {
    this.#saw('permit')
    this.#oracle.permitted(permit.claim)
    const write: Write = { ...permit.claim, permit, state: 'held', interruption: undefined }
    this.#oracle.writes.push(write)
    const process = this.#process
    permit.onInterrupt((refusal) => {
      if (process === this.#process) this.#guard(() => this.#interrupted(write, refusal))
    })
  }

  #interrupted(write: Write, refusal: Refusal): void {
    this.#saw(write.state === 'begun' ? 'severed' : 'revoked')
    this.#oracle.interrupted(write, refusal)
    if (this.#options.promptSenders) this.#release(write, write.state === 'begun' ? 'unknown' : 'not-sent')
  }

  #begin(write: Write | undefined): void {
    if (!write) return
    if (!write.permit.begin()) {
      assert.equal(write.interruption?.code, 'stale-token', 'begin failed without a revocation')
      return this.#release(write, 'not-sent')
    }
    this.#saw('begin')
    assert.equal(write.permit.begin(), false, 'begin succeeded twice')
    this.#oracle.began(write)
    write.state = 'begun'
  }

  #release(write: Write | undefined, outcome: Outcome): void {
    if (!write) return
    const begun = write.state === 'begun'
    write.state = 'released'
    write.permit.release(begun ? (outcome === 'not-sent' ? 'unknown' : outcome) : 'not-sent')
  }

  #submitted(operation: Operation): void {
    if (!operation.record) this.#saw('load')
    this.#oracle.submitted(operation, this.#store.pending)
  }

  #serve(operation: Operation | undefined, fate: Fate): void {
    if (!operation) return
    if (fate !== 'done') this.#oracle.failed(operation.task)
    operation.serve(fate)
  }

  #crash(durable: number, downMs: number): void {
    this.#saw('crash')
    this.#store.crash((operation) => ((durable >> this.#store.pending.indexOf(operation)) & 1) === 1)
    this.#oracle.died(this.#options.graceMs)
    this.#restart(downMs)
  }

  /** A clean stop, where one is allowed: nothing open, no grace. */
  async #stop(): Promise<void> {
    if (!this.#gate.quiet) return
    this.#saw('clean stop')
    this.#process++
    this.#gate.close()
    await this.#store.close(true)
    this.#restart(0)
  }

  #restart(downMs: number): void {
    this.#process++
    this.#requests.clear()
    this.#oracle.writes = []
    this.#clock = new VirtualClock(this.#clock.now() + downMs)
    this.#store = this.#openStore()
    this.#gate = this.#startGate()
  }

  #checkOpenWrites(): void {
    const open = this.#oracle.open.filter(({ interruption }) => interruption?.code !== 'stale-token')
    assert.equal(this.#gate.inFlight.size, open.length, 'open writes are miscounted')
  }

  /** Serves the store and lets time pass until every request is answered, or should have been. */
  async #serveUntilQuiet(): Promise<void> {
    const { handoverTimeoutMs } = this.#options
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 8; i++) {
        this.#store.serveAll()
        await this.turn(undefined)
      }
      if (this.#requests.size === 0) return
      await this.#clock.advance(handoverTimeoutMs)
    }
  }

  async #successorsGetRidOfStalledHolders(drainLimitMs: number): Promise<void> {
    const stalled = this.#oracle.in('begun').filter(({ task, token }) => token < this.#disk.mark(task).token)
    for (const { task } of stalled) this.#admit(task, this.#disk.mark(task).token)
    await this.#serveUntilQuiet()
    await this.#clock.advance(drainLimitMs)
    this.#rethrow()
    for (const write of stalled) assert.ok(write.interruption, 'a stalled holder kept its successor out')
  }

  async #currentHoldersPass(): Promise<void> {
    for (let i = 0; i < this.#options.tasks; i++) {
      const task = `task-${i}`
      const { token } = this.#disk.mark(task)
      this.#admit(task, token === 0n ? 1n : token)
      await this.#serveUntilQuiet()
      const write = this.#oracle.in('held')[0]
      assert.ok(write, 'a current holder was not served')
      this.#begin(write)
      this.#release(write, 'answered')
      await this.turn(undefined)
    }
  }

  /** After all others were used, a task's mark is read again: only the cache's few are in memory. */
  async #idleTasksAreForgotten(): Promise<void> {
    const { tasks, cachedTasks } = this.#options
    if (tasks <= cachedTasks) return
    const loads = this.#sightings.load ?? 0
    await this.#currentHoldersPass()
    assert.equal((this.#sightings.load ?? 0) - loads, tasks, 'a task stayed in memory')
  }

  #saw(what: string): void {
    this.#sightings[what] = (this.#sightings[what] ?? 0) + 1
  }

  /** Runs a check inside the gate's own calls, where an exception would be taken for the store's. */
  #guard(check: () => void): void {
    try {
      check()
    } catch (error) {
      this.#faults.push(error)
    }
  }

  #rethrow(): void {
    if (this.#faults.length > 0) throw this.#faults[0]
  }
}

function pick<T>(from: readonly T[], index: number): T | undefined {
  return from.length === 0 ? undefined : from[index % from.length]
}
