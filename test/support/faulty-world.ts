/**
 * The gate in a world of faults: clients, senders, a store and a clock of which every move is made by the
 * test, and an oracle that knows nothing of the gate's inside. It judges by two things alone: what reached
 * the resource, and what is durable.
 */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import { Admission, type Ending, type Outcome } from '../../src/gate/admission.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { Permit } from '../../src/gate/permit.ts'
import type { Change } from '../../src/store/mark-store.ts'
import type { Token } from '../../src/token.ts'
import { type Fate, MemoryMarkStore, type Operation } from './memory-mark-store.ts'
import { MemoryDisk } from './store-memory-disk.ts'
import { settled, VirtualClock } from './virtual-clock.ts'

export interface WorldOptions {
  readonly tasks: number
  readonly handoverTimeoutMs: number
  readonly drainLimitMs: number
  readonly graceMs: number
  readonly storeTimeoutMs: number
  readonly cachedTasks: number
  readonly maxTokenJump: Token | undefined
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

interface Request {
  readonly task: string
  readonly token: Token
  readonly sinceMs: number
  /** Store operations of the task that had failed by then. */
  readonly failuresBefore: number
}

interface Write {
  readonly task: string
  readonly token: Token
  readonly permit: Permit
  state: 'held' | 'begun' | 'released'
  interruption: Refusal | undefined
}

/** A write that was begun before a crash: nobody knows of it, but the resource may still be at it. */
interface Orphan {
  readonly task: string
  readonly token: Token
  readonly untilMs: number
}

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
  readonly #writes: Write[] = []
  readonly #orphans: Orphan[] = []
  readonly #highestSent = new Map<string, Token>()
  /** `task token` of each mark that was ever durable and complete. */
  readonly #completed = new Set<string>()
  /** When a token above 0 of a task became durable. */
  readonly #durableSince: { task: string; token: Token; ms: number }[] = []
  readonly #failures = new Map<string, number>()
  readonly #faults: unknown[] = []

  constructor(options: WorldOptions, sightings: Sightings) {
    this.#options = options
    this.#sightings = sightings
    this.#disk = new MemoryDisk(options.floor)
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
        this.#begin(pick(this.#in('held'), step.pick))
        break
      case 'release':
        this.#release(pick([...this.#in('held'), ...this.#in('begun')], step.pick), step.outcome)
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
    for (const write of [...this.#in('held'), ...this.#in('begun')]) this.#release(write, 'unknown')
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
      stored: (changes) => this.#stored(changes),
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
    const request = { task, token, sinceMs, failuresBefore: this.#failures.get(task) ?? 0 }
    this.#requests.add(request)
    const answered = (answer: Permit | Refusal) => {
      if (process !== this.#process) return
      this.#requests.delete(request)
      if ('code' in answer) this.#refused(request, answer)
      else this.#permitted(answer)
    }
    this.#gate.admit(new Admission({ task, token })).then(
      (answer) => this.#guard(() => answered(answer)),
      (error) => this.#faults.push(error),
    )
  }

  #permitted(permit: Permit): void {
    const { task, token } = permit.claim
    this.#saw('permit')
    assert.ok(this.#completed.has(`${task} ${token}`), 'P3: permitted before its completion was durable')
    const write: Write = { task, token, permit, state: 'held', interruption: undefined }
    this.#writes.push(write)
    const process = this.#process
    permit.onInterrupt((refusal) => {
      if (process === this.#process) this.#guard(() => this.#interrupted(write, refusal))
    })
  }

  #refused(request: Request, refusal: Refusal): void {
    const { task, token } = request
    const waitedMs = this.#clock.now() - request.sinceMs
    this.#saw(refusal.code)
    const mark = this.#disk.mark(task)
    switch (refusal.code) {
      case 'stale-token':
        assert.ok(mark.token > token, 'a current holder was called stale')
        assert.ok((refusal.highest ?? 0n) > token && (refusal.highest ?? 0n) <= mark.token)
        break
      case 'token-jump':
        assert.ok(mark.recorded, 'a task without a record was measured')
        assert.ok(token - (refusal.highest as Token) > (this.#options.maxTokenJump as Token))
        break
      case 'handover-pending':
        assert.ok(waitedMs >= this.#options.handoverTimeoutMs, `told handover-pending after ${waitedMs} ms`)
        assert.ok(mark.token >= token, 'handover-pending without a durable raise')
        break
      case 'store-unavailable': {
        const failed = (this.#failures.get(task) ?? 0) > request.failuresBefore
        assert.ok(failed || waitedMs >= this.#options.storeTimeoutMs, 'store-unavailable for no reason')
        break
      }
      default:
        assert.fail(`the gate refused with ${refusal.code}`)
    }
  }

  #interrupted(write: Write, refusal: Refusal): void {
    this.#saw(write.state === 'begun' ? 'severed' : 'revoked')
    assert.equal(write.interruption, undefined, 'interrupted twice')
    assert.notEqual(write.state, 'released', 'interrupted after its release')
    write.interruption = refusal
    const raised = this.#durableSince.find(({ task, token }) => task === write.task && token > write.token)
    assert.ok(raised, 'interrupted without a higher durable mark')
    assert.ok((refusal.highest ?? 0n) <= this.#disk.mark(write.task).token, 'told a mark that is not durable')
    if (write.state === 'begun') {
      assert.equal(refusal.code, 'superseded')
      const drainedMs = this.#clock.now() - raised.ms
      assert.ok(drainedMs >= this.#options.drainLimitMs, `severed after ${drainedMs} ms`)
    } else {
      assert.equal(refusal.code, 'stale-token')
    }
    if (this.#options.promptSenders) this.#release(write, write.state === 'begun' ? 'unknown' : 'not-sent')
  }

  /** The write reaches the resource: the one place where the promises are kept or broken. */
  #begin(write: Write | undefined): void {
    if (!write) return
    const { task, token } = write
    const durable = this.#disk.mark(task)
    if (!write.permit.begin()) {
      assert.equal(write.interruption?.code, 'stale-token', 'begin failed without a revocation')
      return this.#release(write, 'not-sent')
    }
    this.#saw('begin')
    assert.equal(write.interruption, undefined, 'begin succeeded after a revocation')
    assert.equal(write.permit.begin(), false, 'begin succeeded twice')
    const highest = this.#highestSent.get(task) ?? 0n
    assert.ok(token >= highest, `P1: ${token} was sent after ${highest}`)
    const lower = this.#atWork(task).find((other) => other < token)
    assert.equal(lower, undefined, `P2: ${token} was sent while ${lower} was at work`)
    assert.ok(durable.token >= token, `P3: ${token} was sent, ${durable.token} is durable`)
    this.#highestSent.set(task, token)
    write.state = 'begun'
  }

  #release(write: Write | undefined, outcome: Outcome): void {
    if (!write) return
    const begun = write.state === 'begun'
    write.state = 'released'
    const ended = begun && outcome === 'not-sent' ? 'unknown' : outcome
    const unknown: Ending = { outcome: 'unknown', reason: 'timeout', bytesSent: 0 }
    write.permit.release(
      !begun ? { outcome: 'not-sent' } : ended === 'unknown' ? unknown : { outcome: 'answered' },
    )
  }

  #submitted(operation: Operation): void {
    const { task, changes } = operation
    if (task === undefined) return
    const others = this.#store.pending.filter((other) => other.task === task)
    assert.equal(others.length, 0, 'a second store operation of the task was started')
    if (!changes) {
      this.#saw('load')
      return
    }
    const [mark] = changes
    if (mark?.kind !== 'mark') return
    const { token, complete } = mark
    assert.ok(token >= this.#disk.mark(task).token, 'a record below the mark was asked for')
    if (complete) this.#checkNoneLower(task, token)
  }

  /** No write below `token` is at work or could still begin. */
  #checkNoneLower(task: string, token: Token): void {
    const lower = this.#atWork(task).find((other) => other < token)
    assert.equal(lower, undefined, `${token} was called complete while ${lower} was at work`)
    for (const write of this.#in('held')) {
      const could = write.task === task && write.token < token && !write.interruption
      assert.ok(!could, `${token} was called complete while ${write.token} could begin`)
    }
  }

  #stored([mark]: readonly Change[]): void {
    if (mark?.kind !== 'mark') return
    const { task, token, complete } = mark
    const raised = this.#durableSince.some((other) => other.task === task && other.token >= token)
    if (!raised) this.#durableSince.push({ task, token, ms: this.#clock.now() })
    if (!complete) return
    this.#guard(() => this.#checkNoneLower(task, token))
    this.#completed.add(`${task} ${token}`)
  }

  #serve(operation: Operation | undefined, fate: Fate): void {
    if (!operation) return
    const { task } = operation
    if (fate !== 'done' && task) this.#failures.set(task, (this.#failures.get(task) ?? 0) + 1)
    operation.serve(fate)
  }

  #crash(durable: number, downMs: number): void {
    this.#saw('crash')
    this.#store.crash((operation) => ((durable >> this.#store.pending.indexOf(operation)) & 1) === 1)
    const untilMs = this.#clock.now() + this.#options.graceMs
    for (const { task, token } of this.#in('begun')) this.#orphans.push({ task, token, untilMs })
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
    this.#writes.length = 0
    this.#clock = new VirtualClock(this.#clock.now() + downMs)
    this.#store = this.#openStore()
    this.#gate = this.#startGate()
  }

  #in(state: Write['state']): Write[] {
    return this.#writes.filter((write) => write.state === state)
  }

  /** Tokens of the task's writes that the resource may be working at. */
  #atWork(task: string): Token[] {
    const orphans = this.#orphans.filter(({ untilMs }) => untilMs > this.#clock.now())
    return [...this.#in('begun'), ...orphans].filter((write) => write.task === task).map(({ token }) => token)
  }

  #checkOpenWrites(): void {
    const revoked = (write: Write) => write.interruption?.code === 'stale-token'
    const open = [...this.#in('held').filter((write) => !revoked(write)), ...this.#in('begun')]
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
    const stalled = this.#in('begun').filter(({ task, token }) => token < this.#disk.mark(task).token)
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
      const write = this.#in('held')[0]
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
