/**
 * The gate in a world of faults: clients, senders, operators, a store and a clock of which every move is made
 * by the test. `faulty-oracle.ts` judges what they see.
 */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import { Admission, type Ending, NO_WRITE, type Outcome, type WriteRule } from '../../src/gate/admission.ts'
import type { Permit } from '../../src/gate/permit.ts'
import type { UnknownWrite } from '../../src/journal/records.ts'
import type { Claim } from '../../src/token.ts'
import { PLAIN_ATTEMPT } from './faulty-attempts.ts'
import { OperationsJudge } from './faulty-operations.ts'
import { Oracle, type Request, type Sightings, type Write } from './faulty-oracle.ts'
import { FaultyProcess } from './faulty-process.ts'
import { pick, RULES, type Step, type WorldOptions } from './faulty-steps.ts'
import { FACTS } from './store-and-gate.ts'
import { MemoryDisk } from './store-memory-disk.ts'
import { settled } from './virtual-clock.ts'

const EVERY = { task: undefined, state: undefined, limit: 1000, after: 0 }
/** As long as the gate waits before it repeats the commit of an ending, and then some. */
const RETRY_MS = 1_001

export class FaultyWorld {
  readonly #options: WorldOptions
  readonly #oracle: Oracle
  readonly #disk: MemoryDisk
  #intentsComplete: boolean
  readonly #judge: OperationsJudge
  /** What an earlier one still says is not heard. */
  #process: FaultyProcess
  readonly #requests = new Set<Request>()
  readonly #faults: unknown[] = []

  constructor(options: WorldOptions, sightings: Sightings) {
    this.#options = options
    this.#disk = new MemoryDisk(options.floor)
    this.#oracle = new Oracle(this.#disk, options, sightings)
    this.#judge = new OperationsJudge(this.#disk)
    this.#intentsComplete = options.intentsComplete
    this.#process = this.#start()
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
        this.#process.operator.act(step, `task-${step.pick % this.#options.tasks}`)
        break
      case 'attempt':
      case 'body':
      case 'leave':
      case 'early':
        this.#process.attempts.step(step, `task-${step.pick % this.#options.tasks}`)
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
        this.#process.store.serve(step.pick, step.fate)
        break
      case 'flow':
        for (let round = 0; round < step.rounds; round++) await this.#flow()
        break
      case 'advance':
        await this.#process.clock.advance(step.ms)
        break
      case 'pause':
        this.#process.clock.pause(step.ms)
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
    this.#process.attempts.finishBodies()
    await this.#serveUntilQuiet()
    await this.#process.clock.advance(this.#options.graceMs)
    await this.#everythingIsLetGo()
    await this.#successorsGetRidOfStalledHolders()
    for (const write of [...this.#oracle.in('held'), ...this.#oracle.in('begun')]) {
      this.#release(write, 'unknown')
    }
    await this.#serveUntilQuiet()
    await this.#everythingIsLetGo()
    assert.equal(this.#waiting, 0, 'a request was never answered')
    assert.equal(this.#process.operator.waiting, 0, 'an act was never answered')
    assert.equal(this.#process.gate.inFlight.size, 0, 'open writes were counted that had ended')
    assert.equal(this.#process.gate.quiet, true, 'not quiet at the end')
    assert.equal(this.#process.gate.view.handoversPending, 0, 'a handover was counted as pending at the end')
    this.#oracle.allRecorded()
    await this.#operationsEnd()
    await this.#currentHoldersPass()
    await this.#idleTasksAreForgotten()
    assert.equal(this.#process.clock.pending, 0, 'a timer was left behind')
  }

  #start(startMs = 0): FaultyProcess {
    const parts = {
      disk: this.#disk,
      options: this.#options,
      oracle: this.#oracle,
      judge: this.#judge,
      permitted: (write: Write, holder: string | undefined) => this.#held(write, holder),
      guard: (check: () => void) => this.#guard(check),
      fault: (error: unknown) => this.#faults.push(error),
    }
    return new FaultyProcess(parts, this.#intentsComplete, startMs)
  }

  /** Requests that nobody has answered. */
  get #waiting(): number {
    return this.#requests.size + this.#process.attempts.waiting
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
    this.#hear(claim, this.#process.gate.admit(admission), (permit) => this.#permitted(admission, permit))
  }

  #announce(claim: Claim): void {
    const { task, token } = claim
    this.#hear(claim, this.#process.gate.announce(claim), () => {
      this.#oracle.saw('announcement')
      this.#oracle.handedOver(task, token)
    })
  }

  #hear<T>({ task, token, holder }: Claim, answer: Promise<T | Refusal>, passed: (answer: T) => void): void {
    const process = this.#process
    const request = { task, token, holder, sinceMs: this.#process.clock.now(), ...this.#oracle.past(task) }
    this.#requests.add(request)
    const answered = (given: T | Refusal) => {
      if (process !== this.#process) return
      this.#requests.delete(request)
      if (isRefusal(given)) this.#oracle.refused(request, given, this.#process.clock.now())
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
    this.#held({ id, task, token, rule, permit, ...state }, holder)
  }

  #held(write: Write, holder: string | undefined): void {
    this.#oracle.permitted(write, holder)
    const process = this.#process
    write.permit.onInterrupt((refusal) => {
      if (process === this.#process) this.#guard(() => this.#interrupted(write, refusal))
    })
  }

  #interrupted(write: Write, refusal: Refusal): void {
    this.#oracle.interrupted(write, refusal, this.#process.clock.now())
    if (this.#options.promptSenders) this.#release(write, write.state === 'begun' ? 'unknown' : 'not-sent')
  }

  #begin(write: Write | undefined): void {
    if (!write) return
    if (!write.permit.begin()) {
      assert.ok(write.interruption, 'begin failed without a revocation')
      return this.#release(write, 'not-sent')
    }
    this.#oracle.begun(write, this.#process.clock.now())
    write.attempt?.begun()
    assert.equal(write.permit.begin(), false, 'begin succeeded twice')
  }

  #release(write: Write | undefined, outcome: Outcome): void {
    if (!write) return
    const begun = write.state === 'begun'
    write.state = 'released'
    write.outcome = !begun ? 'not-sent' : outcome === 'answered' ? outcome : 'unknown'
    if (write.attempt) return write.attempt.release(write.outcome)
    const unknown: Ending = { outcome: 'unknown', reason: 'timeout', bytesSent: 0 }
    write.permit.release(write.outcome === 'unknown' ? unknown : { outcome: write.outcome })
  }

  #crash(durable: number, downMs: number, intentsComplete: boolean): void {
    this.#oracle.saw('crash')
    this.#process.store.crash(durable)
    this.#restart(downMs, intentsComplete)
  }

  /** A clean stop, where one is allowed: nothing open, no grace. Operators and clients are gone by then. */
  async #stop(intentsComplete: boolean): Promise<void> {
    if (!this.#process.gate.quiet || this.#waiting + this.#process.operator.waiting > 0) return
    this.#oracle.saw('clean stop')
    for (const revoked of this.#oracle.in('held')) this.#release(revoked, 'not-sent')
    let closed = false
    const closing = this.#process.gate.close().then(() => {
      closed = true
    })
    while (!closed) {
      this.#process.store.memory.serveAll()
      await this.#process.clock.advance(RETRY_MS)
    }
    await closing
    await this.#process.store.memory.close(true)
    assert.deepEqual(this.#disk.intents, [], 'a clean stop left an intent open')
    this.#restart(0, intentsComplete)
  }

  #restart(downMs: number, intentsComplete: boolean): void {
    const endMs = this.#process.clock.now()
    this.#requests.clear()
    this.#judge.processEnded()
    this.#process.attempts.end()
    this.#oracle.processEnded(endMs, this.#options.graceMs)
    this.#intentsComplete = intentsComplete
    this.#process = this.#start(endMs + downMs)
  }

  /** Whoever is permitted or at work is counted; besides, once the store is idle, only revoked intents. */
  #checkOpenWrites(): void {
    this.#oracle.checkRevoked()
    const held = this.#oracle.in('held')
    const revoked = held.filter(({ interruption }) => interruption).length
    const open = held.length - revoked + this.#oracle.in('begun').length
    const counted = this.#process.gate.inFlight.size
    assert.ok(counted >= open, `${counted} open writes are counted, ${open} are open`)
    const { memory, retrying } = this.#process.store
    const idle = this.#waiting + memory.pending.length + retrying.size === 0
    if (idle) assert.ok(counted <= open + revoked, 'ended writes are counted')
  }

  /** Serves the store, and lets what follows from that run. */
  async #flow(): Promise<void> {
    this.#process.store.memory.serveAll()
    await this.turn(undefined)
  }

  /** Serves the store and lets time pass until every request is answered and every ending on record. */
  async #serveUntilQuiet(): Promise<void> {
    const { handoverTimeoutMs } = this.#options
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 8; i++) await this.#flow()
      const { retrying } = this.#process.store
      if (this.#waiting + this.#process.operator.waiting + retrying.size === 0) return
      await this.#process.clock.advance(retrying.size > 0 ? RETRY_MS : handoverTimeoutMs)
    }
  }

  /** Operators thaw what is frozen and resolve what is unknown. */
  async #everythingIsLetGo(): Promise<void> {
    for (const task of this.#disk.frozen)
      this.#process.operator.act({ kind: 'act', act: 'thaw', pick: 0 }, task)
    await this.#serveUntilQuiet()
    // Senders that are cut off meanwhile add to the list.
    for (let round = 0; round < 99; round++) {
      const [next] = this.#resolvable()
      if (!next) break
      const pick = this.#disk.unresolved.filter(({ task }) => task === next.task).indexOf(next)
      this.#process.operator.act({ kind: 'act', act: 'resolve', pick }, next.task)
      await this.#serveUntilQuiet()
    }
    assert.deepEqual([this.#resolvable(), [...this.#disk.frozen]], [[], []], 'an act had no effect')
  }

  /** What is being attempted again can't be resolved yet. */
  #resolvable(): UnknownWrite[] {
    const { gate } = this.#process
    return this.#disk.unresolved.filter(({ task, operation }) => {
      const again = gate.view
        .open(task)
        .some(({ admission: { attempt, facts } }) => attempt && facts.operation === operation)
      return !again
    })
  }

  async #successorsGetRidOfStalledHolders(): Promise<void> {
    const stalled = this.#oracle.in('begun').filter((write) => this.#oracle.isStalled(write))
    for (const { task } of stalled) this.#admit({ task, token: this.#disk.mark(task).token }, NO_WRITE)
    await this.#serveUntilQuiet()
    await this.#process.clock.advance(this.#options.drainLimitMs)
    this.#rethrow()
    for (const write of stalled) assert.ok(write.interruption, 'a stalled holder kept its successor out')
  }

  /** Whatever became of an operation, its current holder is told, or may send it and is told then. */
  async #operationsEnd(): Promise<void> {
    for (const { task, key } of this.#disk.operations.operations(EVERY).rows) {
      if (this.#disk.mark(task).token === 0n) continue
      this.#process.attempts.attempt({ ...PLAIN_ATTEMPT, key: Number(key.slice('key-'.length)) }, task)
      await this.#serveUntilQuiet()
      const [write] = this.#oracle.in('held')
      this.#begin(write)
      if (write) this.#release(write, 'answered')
      await this.#serveUntilQuiet()
      assert.equal(this.#waiting, 0, 'an attempt was never answered')
    }
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
    const loads = this.#process.store.loads
    await this.#currentHoldersPass()
    assert.equal(this.#process.store.loads - loads, tasks, 'a task stayed in memory')
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
