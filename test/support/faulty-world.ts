/**
 * The gate in a world of faults: clients, senders, operators, a store and a clock of which every move is made
 * by the test. `faulty-oracle.ts` judges what they see.
 */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import { Admission, type Ending, NO_WRITE, type Outcome, type WriteRule } from '../../src/gate/admission.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { Permit } from '../../src/gate/permit.ts'
import type { Claim } from '../../src/token.ts'
import { FaultyOperator } from './faulty-operator.ts'
import { Oracle, type Request, type Sightings, type Write } from './faulty-oracle.ts'
import { pick, RULES, type Step, type WorldOptions } from './faulty-steps.ts'
import { type Fate, idsOf, MemoryMarkStore, type Operation } from './memory-mark-store.ts'
import { FACTS } from './store-and-gate.ts'
import { MemoryDisk } from './store-memory-disk.ts'
import { settled, VirtualClock } from './virtual-clock.ts'

/** As long as the gate waits before it repeats the commit of an ending, and then some. */
const RETRY_MS = 1_001

export class FaultyWorld {
  readonly #options: WorldOptions
  readonly #oracle: Oracle
  readonly #disk: MemoryDisk
  #intentsComplete: boolean
  #clock = new VirtualClock()
  #store: MemoryMarkStore
  #gate: Gate
  #operator: FaultyOperator
  /** Incremented by each restart: what an earlier process still says is not heard. */
  #process = 0
  readonly #requests = new Set<Request>()
  readonly #faults: unknown[] = []
  #loads = 0
  /** Commits of endings that failed and have not been repeated with success. */
  readonly #retrying = new Set<string>()

  constructor(options: WorldOptions, sightings: Sightings) {
    this.#options = options
    this.#disk = new MemoryDisk(options.floor)
    this.#oracle = new Oracle(this.#disk, options, sightings)
    this.#intentsComplete = options.intentsComplete
    this.#store = this.#openStore()
    this.#gate = this.#startGate()
    this.#operator = this.#startOperator()
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'admit':
        this.#ask(step.pick, step.above, (claim) => this.#admit(claim, RULES[step.rule] as WriteRule), step)
        break
      case 'announce':
        this.#ask(step.pick, step.above, (claim) => this.#announce(claim), step)
        break
      case 'act':
        this.#operator.act(step, `task-${step.pick % this.#options.tasks}`)
        break
      case 'begin':
        this.#begin(pick(this.#oracle.in('held'), step.pick))
        break
      case 'release':
        this.#release(
          pick([...this.#oracle.in('held'), ...this.#oracle.in('begun')], step.pick),
          step.outcome,
        )
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
        this.#crash(step.durable, step.downMs, step.intentsComplete)
        break
      case 'stop':
        await this.#stop(step.intentsComplete)
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
    await this.turn(undefined)
    await this.#serveUntilQuiet()
    await this.#clock.advance(this.#options.graceMs)
    await this.#everythingIsLetGo()
    await this.#successorsGetRidOfStalledHolders()
    for (const write of [...this.#oracle.in('held'), ...this.#oracle.in('begun')]) {
      this.#release(write, 'unknown')
    }
    await this.#serveUntilQuiet()
    await this.#everythingIsLetGo()
    assert.equal(this.#requests.size, 0, 'a request was never answered')
    assert.equal(this.#operator.waiting, 0, 'an act was never answered')
    assert.equal(this.#gate.inFlight.size, 0, 'open writes were counted that had ended')
    assert.equal(this.#gate.quiet, true, 'not quiet at the end')
    assert.equal(this.#gate.handoversPending, 0, 'a handover was counted as pending at the end')
    this.#oracle.allRecorded()
    await this.#currentHoldersPass()
    await this.#idleTasksAreForgotten()
    assert.equal(this.#clock.pending, 0, 'a timer was left behind')
  }

  #openStore(): MemoryMarkStore {
    const openIntents = this.#disk.intents.map(({ id }) => id)
    const store = new MemoryMarkStore(this.#disk, {
      intentsComplete: this.#intentsComplete,
      submitted: (operation) => this.#guard(() => this.#submitted(operation)),
      stored: (changes) => {
        for (const id of idsOf(changes)) this.#retrying.delete(id)
        this.#guard(() => this.#oracle.stored(changes, this.#clock.now()))
      },
    })
    this.#oracle.processStarted(openIntents)
    return store
  }

  #startGate(): Gate {
    const { graceMs, ...options } = this.#options
    const { unclean, intentsWereComplete } = this.#store.origin
    if (unclean && intentsWereComplete) this.#oracle.saw('grace waived')
    return new Gate({
      ...options,
      store: this.#store,
      clock: this.#clock,
      graceMs: unclean && !intentsWereComplete ? graceMs : 0,
      observer: {
        raised: () => this.#oracle.saw('raise'),
        handedOver: () => this.#oracle.saw('handover'),
      },
    })
  }

  #startOperator(): FaultyOperator {
    return new FaultyOperator({
      gate: this.#gate,
      store: this.#store,
      oracle: this.#oracle,
      clock: this.#clock,
      storeTimeoutMs: this.#options.storeTimeoutMs,
      fault: (error) => this.#faults.push(error),
    })
  }

  #ask(
    task: number,
    above: number,
    ask: (claim: Claim) => void,
    { holder }: { readonly holder: string | undefined },
  ): void {
    const name = `task-${task % this.#options.tasks}`
    const token = this.#disk.mark(name).token + BigInt(above)
    if (token >= 1n) ask({ task: name, token, ...(holder !== undefined && { holder }) })
  }

  #admit(claim: Claim, rule: WriteRule): void {
    // Where every route records intents, this one does.
    const admission = new Admission(claim, { ...rule, intent: rule.intent || this.#intentsComplete }, FACTS)
    this.#hear(claim, this.#gate.admit(admission), (permit) => this.#permitted(admission, permit))
  }

  #announce(claim: Claim): void {
    const { task, token } = claim
    this.#hear(claim, this.#gate.announce(claim), () => {
      this.#oracle.saw('announcement')
      this.#oracle.handedOver(task, token)
    })
  }

  #hear<T>({ task, token, holder }: Claim, answer: Promise<T | Refusal>, passed: (answer: T) => void): void {
    const process = this.#process
    const request = { task, token, holder, sinceMs: this.#clock.now(), ...this.#oracle.past(task) }
    this.#requests.add(request)
    const answered = (given: T | Refusal) => {
      if (process !== this.#process) return
      this.#requests.delete(request)
      if (isRefusal(given)) this.#oracle.refused(request, given, this.#clock.now())
      else passed(given)
    }
    answer.then(
      (given) => this.#guard(() => answered(given)),
      (error) => this.#faults.push(error),
    )
  }

  #permitted({ id, rule, claim }: Admission, permit: Permit): void {
    const { task, token, holder } = claim
    const state = { state: 'held', outcome: undefined, interruption: undefined } as const
    const write: Write = { id, task, token, rule, permit, ...state }
    this.#oracle.permitted(write, holder)
    const process = this.#process
    permit.onInterrupt((refusal) => {
      if (process === this.#process) this.#guard(() => this.#interrupted(write, refusal))
    })
  }

  #interrupted(write: Write, refusal: Refusal): void {
    this.#oracle.interrupted(write, refusal, this.#clock.now())
    if (this.#options.promptSenders) this.#release(write, write.state === 'begun' ? 'unknown' : 'not-sent')
  }

  #begin(write: Write | undefined): void {
    if (!write) return
    if (!write.permit.begin()) {
      assert.ok(write.interruption, 'begin failed without a revocation')
      return this.#release(write, 'not-sent')
    }
    this.#oracle.begun(write, this.#clock.now())
    assert.equal(write.permit.begin(), false, 'begin succeeded twice')
  }

  #release(write: Write | undefined, outcome: Outcome): void {
    if (!write) return
    const begun = write.state === 'begun'
    write.state = 'released'
    write.outcome = !begun ? 'not-sent' : outcome === 'answered' ? outcome : 'unknown'
    const unknown: Ending = { outcome: 'unknown', reason: 'timeout', bytesSent: 0 }
    write.permit.release(write.outcome === 'unknown' ? unknown : { outcome: write.outcome })
  }

  #submitted({ task, changes }: Operation): void {
    if (task === undefined) return
    const others = this.#store.pending.filter((other) => other.task === task)
    assert.equal(others.length, 0, 'a second store operation of the task was started')
    if (!changes) {
      this.#oracle.saw('load')
      this.#loads++
      return
    }
    const mark = changes.find((change) => change.kind === 'mark')
    if (!mark) return
    assert.ok(mark.token >= this.#disk.mark(task).token, 'a record below the mark was asked for')
    if (mark.complete) this.#oracle.checkNoneLower(task, mark.token, this.#clock.now())
    if (changes.some((change) => change.kind === 'intent')) this.#oracle.saw('raise with intent')
  }

  /** The store keeps commits in order where it matters: of one write's, the oldest goes first. */
  #serve(picked: Operation | undefined, fate: Fate): void {
    if (!picked) return
    const ids = idsOf(picked.changes ?? [])
    const operation = this.#store.pending.find(({ changes }) =>
      idsOf(changes ?? []).some((id) => ids.includes(id)),
    )
    this.#end(operation ?? picked, fate)
  }

  #end(operation: Operation, fate: Fate): void {
    const { task, changes } = operation
    if (fate !== 'done') {
      const tasks = new Set([
        task,
        ...(changes ?? []).map((change) => 'write' in change && change.write.task),
      ])
      for (const name of tasks) if (name) this.#oracle.failed(name)
      this.#operator.storeFailed()
    }
    // An unknown ending that is stored is never reported failed: then its record can't be resolved before.
    const told = changes?.some(({ kind }) => kind === 'unknown') && fate === 'kept' ? 'lost' : fate
    operation.serve(told)
    const ending = task === undefined && !changes?.some(({ kind }) => kind === 'intent')
    if (told !== 'done' && ending) for (const id of idsOf(changes ?? [])) this.#retrying.add(id)
  }

  #crash(durable: number, downMs: number, intentsComplete: boolean): void {
    this.#oracle.saw('crash')
    const { pending } = this.#store
    this.#store.crash((operation) => ((durable >> pending.indexOf(operation)) & 1) === 1)
    this.#restart(downMs, intentsComplete)
  }

  /** A clean stop, where one is allowed: nothing open, no grace. Operators and clients are gone by then. */
  async #stop(intentsComplete: boolean): Promise<void> {
    if (!this.#gate.quiet || this.#requests.size > 0 || this.#operator.waiting > 0) return
    this.#oracle.saw('clean stop')
    for (const revoked of this.#oracle.in('held')) this.#release(revoked, 'not-sent')
    let closed = false
    const closing = this.#gate.close().then(() => {
      closed = true
    })
    while (!closed) {
      this.#store.serveAll()
      await this.#clock.advance(RETRY_MS)
    }
    await closing
    await this.#store.close(true)
    assert.deepEqual(this.#disk.intents, [], 'a clean stop left an intent open')
    this.#restart(0, intentsComplete)
  }

  #restart(downMs: number, intentsComplete: boolean): void {
    this.#process++
    this.#requests.clear()
    this.#retrying.clear()
    this.#oracle.processEnded(this.#clock.now(), this.#options.graceMs)
    this.#intentsComplete = intentsComplete
    this.#clock = new VirtualClock(this.#clock.now() + downMs)
    this.#store = this.#openStore()
    this.#gate = this.#startGate()
    this.#operator = this.#startOperator()
  }

  /** Whoever is permitted or at work is counted; besides, once the store is idle, only revoked intents. */
  #checkOpenWrites(): void {
    const held = this.#oracle.in('held')
    const revoked = held.filter(({ interruption }) => interruption).length
    const open = held.length - revoked + this.#oracle.in('begun').length
    const counted = this.#gate.inFlight.size
    assert.ok(counted >= open, `${counted} open writes are counted, ${open} are open`)
    const idle = this.#requests.size + this.#store.pending.length + this.#retrying.size === 0
    if (idle) assert.ok(counted <= open + revoked, 'ended writes are counted')
  }

  /** Serves the store and lets time pass until every request is answered and every ending on record. */
  async #serveUntilQuiet(): Promise<void> {
    const { handoverTimeoutMs } = this.#options
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 8; i++) {
        this.#store.serveAll()
        await this.turn(undefined)
      }
      if (this.#requests.size + this.#operator.waiting + this.#retrying.size === 0) return
      await this.#clock.advance(this.#retrying.size > 0 ? RETRY_MS : handoverTimeoutMs)
    }
  }

  /** Operators thaw what is frozen and resolve what is unknown. */
  async #everythingIsLetGo(): Promise<void> {
    for (const task of this.#disk.frozen) this.#operator.act({ kind: 'act', act: 'thaw', pick: 0 }, task)
    await this.#serveUntilQuiet()
    // Senders that are cut off meanwhile add to the list.
    for (let round = 0; round < 99 && this.#disk.unresolved[0]; round++) {
      this.#operator.act({ kind: 'act', act: 'resolve', pick: 0 }, this.#disk.unresolved[0].task)
      await this.#serveUntilQuiet()
    }
    assert.deepEqual([this.#disk.unresolved, [...this.#disk.frozen]], [[], []], 'an act had no effect')
  }

  async #successorsGetRidOfStalledHolders(): Promise<void> {
    const stalled = this.#oracle.in('begun').filter(({ task, token }) => token < this.#disk.mark(task).token)
    for (const { task } of stalled) this.#admit({ task, token: this.#disk.mark(task).token }, NO_WRITE)
    await this.#serveUntilQuiet()
    await this.#clock.advance(this.#options.drainLimitMs)
    this.#rethrow()
    for (const write of stalled) assert.ok(write.interruption, 'a stalled holder kept its successor out')
  }

  async #currentHoldersPass(): Promise<void> {
    for (let i = 0; i < this.#options.tasks; i++) {
      const task = `task-${i}`
      const { token } = this.#disk.mark(task)
      this.#admit({ task, token: token === 0n ? 1n : token }, NO_WRITE)
      await this.#serveUntilQuiet()
      const [write] = this.#oracle.in('held')
      assert.ok(write, 'a current holder was not served')
      this.#begin(write)
      this.#release(write, 'answered')
      await this.#serveUntilQuiet()
    }
  }

  /** After all others were used, a task's state is read again: only the cache's few are in memory. */
  async #idleTasksAreForgotten(): Promise<void> {
    const { tasks, cachedTasks } = this.#options
    if (tasks <= cachedTasks) return
    const loads = this.#loads
    await this.#currentHoldersPass()
    assert.equal(this.#loads - loads, tasks, 'a task stayed in memory')
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

function isRefusal(answer: unknown): answer is Refusal {
  return typeof answer === 'object' && answer !== null && 'code' in answer
}
