/**
 * The judge of the faulty world. It knows nothing of the gate's inside and judges by two things alone: what
 * reached the resource, and what is durable. Its checks throw; the world decides when to call them.
 */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import type { Outcome, WriteRule } from '../../src/gate/admission.ts'
import type { GateLimits } from '../../src/gate/limits.ts'
import type { Permit } from '../../src/gate/permit.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { NO_TOKEN, type Token } from '../../src/token.ts'
import type { MemoryDisk } from './store-memory-disk.ts'

/** What the worlds of a test have seen, so that it can tell whether it tried anything. */
export type Sightings = Record<string, number>

/** Open writes that the steps of one history can fill. */
const ROOM = 10

export interface Limits {
  readonly handoverTimeoutMs: number
  readonly drainLimitMs: number
  /** As long as the resource may be at a write that nobody waits for. */
  readonly graceMs: number
  readonly storeTimeoutMs: number
  readonly maxTokenJump: Token | undefined
  readonly limits: GateLimits
}

/** What a task had been through when a request or an act was made. */
interface Past {
  readonly failures: number
  readonly thaws: number
}

export interface Request extends Past {
  readonly task: string
  readonly token: Token
  readonly holder: string | undefined
  readonly sinceMs: number
  /** The operation that it attempts. */
  readonly operation?: string
}

/** What a write does besides, if it attempts an operation. */
export interface SentAttempt {
  readonly operation: string
  begun(): void
  release(outcome: Outcome): void
}

export interface Write {
  readonly id: string
  readonly task: string
  readonly token: Token
  readonly rule: WriteRule
  readonly permit: Permit
  readonly attempt?: SentAttempt
  state: 'held' | 'begun' | 'released'
  outcome: Outcome | undefined
  interruption: Refusal | undefined
  /** Of a write without a token: the token whose handover was complete when it began. */
  besides?: Token
}

/** A write that the resource may be at although nobody in this process waits for it. */
interface Orphan extends AtWork {
  readonly untilMs: number
}

interface AtWork {
  readonly id: string
  readonly task: string
  readonly token: Token
  readonly holds: boolean
  readonly operation: string | undefined
  readonly besides: Token | undefined
}

export class Oracle {
  readonly writes: Write[] = []
  readonly #disk: MemoryDisk
  readonly #limits: Limits
  readonly #sightings: Sightings
  readonly #orphans: Orphan[] = []
  readonly #highestSent = new Map<string, Token>()
  /** `task token` of each mark that was ever durable and complete. */
  readonly #completed = new Set<string>()
  /** The highest of each task's. */
  readonly #complete = new Map<string, Token>()
  /** The first holder on record, by `task token`. */
  readonly #holders = new Map<string, string>()
  /** When a token above 0 of a task became durable. */
  readonly #durableSince: { task: string; token: Token; ms: number }[] = []
  /** Those that were ever asked for. */
  readonly #tasks = new Set<string>()
  readonly #failures = new Map<string, number>()
  readonly #thaws = new Map<string, number>()
  /** Tasks whose freeze was acknowledged, or known at a start. */
  readonly #frozen = new Set<string>()
  readonly #everUnknown = new Set<string>()
  /** Tasks of which the gate can't know what is durable, since a store operation failed. */
  readonly #unsure = new Set<string>()

  constructor(disk: MemoryDisk, limits: Limits, sightings: Sightings) {
    this.#disk = disk
    this.#limits = limits
    this.#sightings = sightings
  }

  saw(what: string): void {
    this.#sightings[what] = (this.#sightings[what] ?? 0) + 1
  }

  in(state: Write['state']): Write[] {
    return this.writes.filter((write) => write.state === state)
  }

  past(task: string): Past {
    this.#tasks.add(task)
    return { failures: this.#failures.get(task) ?? 0, thaws: this.#thaws.get(task) ?? 0 }
  }

  failed(task: string): void {
    this.#failures.set(task, (this.#failures.get(task) ?? 0) + 1)
    this.#unsure.add(task)
  }

  /** A read failed that may have been anybody's. */
  anyFailed(): void {
    for (const task of this.#tasks) this.failed(task)
  }

  /** A load or commit of the task succeeded. */
  answered(task: string): void {
    this.#unsure.delete(task)
  }

  /** A commit became durable at `nowMs`. */
  stored(changes: readonly Change[], nowMs: number): void {
    for (const change of changes) {
      if (change.kind === 'mark') this.#markStored(change, nowMs)
      else if (change.kind === 'frozen' && !change.frozen) {
        this.#thaws.set(change.task, (this.#thaws.get(change.task) ?? 0) + 1)
        this.#frozen.delete(change.task)
      } else if (change.kind === 'unknown') this.#everUnknown.add(change.write.id)
    }
    this.#nothingForgotten()
  }

  #markStored(mark: Extract<Change, { kind: 'mark' }>, nowMs: number): void {
    const { task, token, complete, holder } = mark
    const key = `${task} ${token}`
    const raised = this.#durableSince.some((other) => other.task === task && other.token >= token)
    if (!raised) this.#durableSince.push({ task, token, ms: nowMs })
    const first = this.#holders.get(key)
    if (first !== undefined) assert.equal(holder, first, 'the first holder was replaced')
    else if (holder !== undefined) this.#holders.set(key, holder)
    if (!complete) return
    this.checkNoneLower(task, token, nowMs)
    this.#completed.add(key)
    if (token > this.#highestComplete(task)) this.#complete.set(task, token)
  }

  /** What was ever durable as unknown is listed until it is resolved. */
  #nothingForgotten(): void {
    for (const id of this.#everUnknown) assert.ok(this.#disk.unknownWrite(id), 'an unknown write is gone')
  }

  /** Before `token` may be called complete: no lower write is at work unrecorded, or could still begin. */
  checkNoneLower(task: string, token: Token, nowMs: number): void {
    const lower = this.#atWork(task, token, nowMs).find(({ id }) => !this.#disk.unknownWrite(id))
    assert.equal(lower?.token, undefined, `${token} was called complete while ${lower?.token} was at work`)
    for (const write of this.in('held')) {
      const could = write.task === task && this.#isBelow(write, token) && !write.interruption
      assert.ok(!could, `${token} was called complete while ${write.token} could begin`)
    }
  }

  /** Writes without a token are below every token until its handover is complete, and beside it after that. */
  #isBelow(write: { task: string; token: Token; besides?: Token | undefined }, token: Token): boolean {
    if (write.token !== NO_TOKEN) return write.token < token
    return (write.besides ?? this.#highestComplete(write.task)) < token
  }

  /** Whether it would keep out the next holder that comes with the mark's token. */
  isStalled(write: Write): boolean {
    return this.#isBelow(write, this.#disk.mark(write.task).token)
  }

  #highestComplete(task: string): Token {
    return this.#complete.get(task) ?? 0n
  }

  /** Once all that the gate has heard has had its effect: what is below a pending handover can't begin. */
  checkRevoked(): void {
    for (const { task, token, interruption } of this.in('held')) {
      const mark = this.#disk.mark(task)
      if (this.#unsure.has(task) || interruption) continue
      const pending = mark.recorded && !mark.complete && token < mark.token
      assert.ok(!pending, `${token} could begin although ${mark.token} is durable`)
    }
  }

  /** Writes below `token` that the resource has not answered and may be working at. */
  #atWork(task: string, token: Token, nowMs: number): AtWork[] {
    const ours = this.writes
      .filter(({ permit, outcome }) => permit.begun && outcome !== 'answered')
      .map(atWork)
    const orphans = this.#orphans.filter(({ id, untilMs }) => this.#disk.unknownWrite(id) || untilMs > nowMs)
    return [...ours, ...orphans].filter((write) => write.task === task && this.#isBelow(write, token))
  }

  permitted(write: Write, holder: string | undefined): void {
    const { task, token } = write
    this.saw('permit')
    if (token !== NO_TOKEN) this.handedOver(task, token)
    if (holder !== undefined) {
      assert.equal(this.#holders.get(`${task} ${token}`), holder, 'permitted beside another holder')
    }
    if (write.rule.intent) assert.ok(this.#disk.writes.has(write.id), 'permitted without a durable intent')
    this.writes.push(write)
  }

  /** A permit was given, or an announcement confirmed. */
  handedOver(task: string, token: Token): void {
    assert.ok(this.#completed.has(`${task} ${token}`), 'P3: passed before its completion was durable')
  }

  /** The write reaches the resource: the one place where the promises are kept or broken. */
  begun(write: Write, nowMs: number): void {
    const { task, token } = write
    this.saw('begin')
    assert.equal(write.interruption, undefined, 'begin succeeded after a revocation')
    if (token === NO_TOKEN) write.besides = this.#highestComplete(task)
    else {
      const highest = this.#highestSent.get(task) ?? 0n
      assert.ok(token >= highest, `P1: ${token} was sent after ${highest}`)
      this.#highestSent.set(task, token)
    }
    for (const lower of this.#atWork(task, token, nowMs)) {
      const recorded = this.#disk.unknownWrite(lower.id)
      assert.ok(recorded, `P2: ${token} was sent while ${lower.token} was at work`)
      this.saw('passed an unknown write')
      if (!lower.holds || recorded.resolution) continue
      const own = lower.operation !== undefined && lower.operation === write.attempt?.operation
      assert.ok(own, `P2: ${token} was sent while ${lower.token} is held`)
      this.saw('repeat of what is held')
    }
    const durable = this.#disk.mark(task)
    assert.ok(durable.token >= token, `P3: ${token} was sent, ${durable.token} is durable`)
    assert.ok(!this.#frozen.has(task), 'sent although the task is frozen')
    if (write.rule.intent) assert.ok(this.#disk.writes.has(write.id), 'sent without a durable intent')
    write.state = 'begun'
  }

  refused(request: Request, refusal: Refusal, nowMs: number): void {
    const { task, token, holder } = request
    const waitedMs = nowMs - request.sinceMs
    this.saw(refusal.code)
    const mark = this.#disk.mark(task)
    const past = this.past(task)
    switch (refusal.code) {
      case 'stale-token':
        assert.ok(mark.token > token, 'a current holder was called stale')
        assert.ok((refusal.highest ?? 0n) > token && (refusal.highest ?? 0n) <= mark.token)
        break
      case 'token-jump':
        assert.ok(mark.recorded, 'a task without a record was measured')
        assert.ok(token - (refusal.highest as Token) > (this.#limits.maxTokenJump as Token))
        break
      case 'task-frozen':
        assert.ok(this.#disk.frozen.has(task) || past.thaws > request.thaws, 'called frozen, but is not')
        break
      case 'token-conflict': {
        const first = this.#holders.get(`${task} ${token}`)
        assert.ok(first !== undefined && holder !== undefined && first !== holder, 'no conflict')
        break
      }
      case 'handover-held':
        assert.ok(refusal.held?.length, 'held by nothing')
        for (const id of refusal.held) {
          const record = this.#disk.unknownWrite(id)
          const below = token === NO_TOKEN || (record && record.token < token)
          assert.ok(record?.holds && below && record.task === task, 'held by what holds not')
        }
        if (request.operation) {
          const others = refusal.held.some(
            (id) => this.#disk.operations.idOfAttempt(id) !== request.operation,
          )
          assert.ok(others, 'held by nothing but its own operation')
        }
        break
      case 'handover-pending': {
        // Without a token, it may have been admitted before the raise.
        const raised = token === NO_TOKEN && this.#durableSince.some(({ ms }) => ms >= request.sinceMs)
        const waited = waitedMs >= this.#limits.handoverTimeoutMs
        assert.ok(waited || raised, `told handover-pending after ${waitedMs} ms`)
        assert.ok(mark.token >= token, 'handover-pending without a durable raise')
        break
      }
      case 'store-unavailable': {
        const failed = past.failures > request.failures
        assert.ok(failed || waitedMs >= this.#limits.storeTimeoutMs, 'store-unavailable for no reason')
        break
      }
      case 'overloaded':
        // How many wait or are reserved is the gate's to know; a roomy world has no use for so many.
        assert.ok(this.#limits.limits.openWrites <= ROOM, `overloaded for no reason: ${refusal.detail}`)
        break
      default:
        assert.fail(`the gate refused with ${refusal.code}`)
    }
  }

  interrupted(write: Write, refusal: Refusal, nowMs: number): void {
    const { task, token, rule } = write
    this.saw(write.state === 'begun' ? 'severed' : 'revoked')
    assert.equal(write.interruption, undefined, 'interrupted twice')
    assert.notEqual(write.state, 'released', 'interrupted after its release')
    write.interruption = refusal
    if (refusal.code === 'task-frozen') {
      assert.ok(write.state === 'held' || rule.standing, 'cut by a freeze')
      if (write.state === 'begun') this.saw('cut by a freeze')
      assert.ok(this.#disk.frozen.has(task) || this.past(task).thaws > 0, 'revoked without a durable freeze')
      return
    }
    const raised = this.#durableSince.find((mark) => mark.task === task && mark.token > token)
    assert.ok(raised, 'interrupted without a higher durable mark')
    assert.ok((refusal.highest ?? 0n) <= this.#disk.mark(task).token, 'told a mark that is not durable')
    const revoked = token === NO_TOKEN ? 'handover-pending' : 'stale-token'
    assert.equal(refusal.code, write.state === 'begun' ? 'superseded' : revoked)
    if (write.state !== 'begun') return
    const drainedMs = nowMs - raised.ms
    if (rule.handover === 'abort') this.saw('aborted')
    else assert.ok(drainedMs >= this.#limits.drainLimitMs, `severed after ${drainedMs} ms`)
  }

  /** A freeze was acknowledged: nothing begins until a thaw is durable. */
  freezeAcknowledged(task: string): void {
    if (!this.#disk.frozen.has(task)) return
    this.#frozen.add(task)
    for (const write of this.in('begun')) {
      assert.ok(write.task !== task || !write.rule.standing || write.interruption, 'stands open while frozen')
    }
  }

  /** The process is gone at `nowMs`; what it had sent may go on in the resource for `workMs`. */
  processEnded(nowMs: number, workMs: number): void {
    for (const write of this.writes) {
      if (!write.permit.begun || write.outcome === 'answered') continue
      this.#orphans.push({ ...atWork(write), untilMs: nowMs + workMs })
    }
    this.writes.length = 0
    this.#unsure.clear()
    for (const task of this.#disk.frozen) this.#frozen.add(task)
  }

  /** Every record of an unknown write after a start: those of intents, those of before. */
  processStarted(openIntents: readonly string[]): void {
    for (const id of openIntents) {
      assert.equal(this.#disk.unknownWrite(id)?.reason, 'restart', 'an intent was forgotten')
      this.saw('unknown after a restart')
      this.#everUnknown.add(id)
    }
  }

  /** When all is over: every write of this process that ended unknown is on record, and no intent is left. */
  allRecorded(): void {
    for (const { id, outcome } of this.writes) {
      if (outcome === 'unknown') assert.ok(this.#disk.unknownWrite(id), 'an unknown outcome is not on record')
      else assert.ok(!this.#disk.writes.has(id), 'a write whose end is known was left on record')
    }
    assert.deepEqual(this.#disk.intents, [], 'an intent was left open')
    this.#nothingForgotten()
  }
}

function atWork({ id, task, token, rule, attempt, besides }: Write): AtWork {
  return { id, task, token, holds: rule.holds, operation: attempt?.operation, besides }
}
