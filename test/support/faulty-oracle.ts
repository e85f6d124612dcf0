/**
 * Judges what a gate does by two things alone: what reached the resource, and what is durable. It knows
 * nothing of the gate's inside. `P1` to `P3` are the promises of the design.
 */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import type { Permit } from '../../src/gate/permit.ts'
import type { Claim, Token } from '../../src/token.ts'
import type { MemoryDisk, Operation, StoredMark } from './memory-mark-store.ts'

export interface Rules {
  readonly handoverTimeoutMs: number
  readonly drainLimitMs: number
  readonly storeTimeoutMs: number
  readonly maxTokenJump: Token | undefined
}

export interface Request extends Claim {
  readonly sinceMs: number
  /** Store operations of the task that had failed by then. */
  readonly failuresBefore: number
}

export interface Write extends Claim {
  readonly permit: Permit
  state: 'held' | 'begun' | 'released'
  interruption: Refusal | undefined
}

/** A write that was begun before a crash: nobody knows of it, but the resource may still be at it. */
interface Orphan extends Claim {
  readonly untilMs: number
}

export class Oracle {
  /** Those of the process that runs now. */
  writes: Write[] = []
  readonly #rules: Rules
  readonly #disk: MemoryDisk
  readonly #now: () => number
  readonly #orphans: Orphan[] = []
  readonly #highestSent = new Map<string, Token>()
  /** `task token` of each mark that was ever durable and complete. */
  readonly #completed = new Set<string>()
  /** When each higher token became durable. */
  readonly #raises: (Claim & { ms: number })[] = []
  readonly #failures = new Map<string, number>()

  constructor(rules: Rules, disk: MemoryDisk, now: () => number) {
    this.#rules = rules
    this.#disk = disk
    this.#now = now
  }

  in(state: Write['state']): Write[] {
    return this.writes.filter((write) => write.state === state)
  }

  /** Not released yet. */
  get open(): Write[] {
    return [...this.in('held'), ...this.in('begun')]
  }

  failures(task: string): number {
    return this.#failures.get(task) ?? 0
  }

  failed(task: string): void {
    this.#failures.set(task, this.failures(task) + 1)
  }

  /** The process died; what had begun stays at work in the resource for `workMs` at most. */
  died(workMs: number): void {
    const untilMs = this.#now() + workMs
    for (const { task, token } of this.in('begun')) this.#orphans.push({ task, token, untilMs })
    this.writes = []
  }

  submitted({ task, record }: Operation, pending: readonly Operation[]): void {
    assert.ok(
      !pending.some((other) => other.task === task),
      'a second store operation of the task was started',
    )
    if (!record) return
    assert.ok(record.token >= this.#disk.mark(task).token, 'a record below the mark was asked for')
    if (record.complete) this.#checkNoneLower(task, record.token)
  }

  stored(task: string, { token, complete }: StoredMark): void {
    const known = this.#raises.some((other) => other.task === task && other.token >= token)
    if (!known) this.#raises.push({ task, token, ms: this.#now() })
    if (!complete) return
    this.#completed.add(`${task} ${token}`)
    this.#checkNoneLower(task, token)
  }

  permitted({ task, token }: Claim): void {
    assert.ok(this.#completed.has(`${task} ${token}`), 'P3: permitted before its completion was durable')
  }

  /** The write reaches the resource: the one place where the promises are kept or broken. */
  began(write: Write): void {
    const { task, token } = write
    assert.equal(write.interruption, undefined, 'begin succeeded after a revocation')
    const highest = this.#highestSent.get(task) ?? 0n
    assert.ok(token >= highest, `P1: ${token} was sent after ${highest}`)
    const lower = this.#atWork(task).find((other) => other < token)
    assert.equal(lower, undefined, `P2: ${token} was sent while ${lower} was at work`)
    const durable = this.#disk.mark(task).token
    assert.ok(durable >= token, `P3: ${token} was sent, ${durable} is durable`)
    this.#highestSent.set(task, token)
  }

  refused({ task, token, sinceMs, failuresBefore }: Request, refusal: Refusal): void {
    const waitedMs = this.#now() - sinceMs
    const mark = this.#disk.mark(task)
    const { highest = 0n } = refusal
    switch (refusal.code) {
      case 'stale-token':
        assert.ok(mark.token > token, 'a current holder was called stale')
        assert.ok(highest > token && highest <= mark.token, 'told a highest token that is not on record')
        break
      case 'token-jump':
        assert.ok(mark.recorded, 'a task without a record was measured')
        assert.ok(token - highest > (this.#rules.maxTokenJump as Token), 'refused for a jump that is allowed')
        break
      case 'handover-pending':
        assert.ok(waitedMs >= this.#rules.handoverTimeoutMs, `told handover-pending after ${waitedMs} ms`)
        assert.ok(mark.token >= token, 'handover-pending without a durable raise')
        break
      case 'store-unavailable': {
        const justified = this.failures(task) > failuresBefore || waitedMs >= this.#rules.storeTimeoutMs
        assert.ok(justified, 'store-unavailable for no reason')
        break
      }
      default:
        assert.fail(`the gate refused with ${refusal.code}`)
    }
  }

  interrupted(write: Write, refusal: Refusal): void {
    assert.equal(write.interruption, undefined, 'interrupted twice')
    assert.notEqual(write.state, 'released', 'interrupted after its release')
    write.interruption = refusal
    const raise = this.#raises.find(({ task, token }) => task === write.task && token > write.token)
    assert.ok(raise, 'interrupted without a higher durable mark')
    assert.ok((refusal.highest ?? 0n) <= this.#disk.mark(write.task).token, 'told a mark that is not durable')
    if (write.state === 'held') return assert.equal(refusal.code, 'stale-token')
    assert.equal(refusal.code, 'superseded')
    const drainedMs = this.#now() - raise.ms
    assert.ok(drainedMs >= this.#rules.drainLimitMs, `severed after ${drainedMs} ms`)
  }

  /** No write below `token` is at work or could still begin. */
  #checkNoneLower(task: string, token: Token): void {
    const lower = this.#atWork(task).find((other) => other < token)
    assert.equal(lower, undefined, `${token} was called complete while ${lower} was at work`)
    for (const write of this.in('held')) {
      const could = write.task === task && write.token < token && !write.interruption
      assert.ok(!could, `${token} was called complete while ${write.token} could begin`)
    }
  }

  /** Tokens of the task's writes that the resource may be working at. */
  #atWork(task: string): Token[] {
    const orphans = this.#orphans.filter(({ untilMs }) => untilMs > this.#now())
    return [...this.in('begun'), ...orphans].filter((write) => write.task === task).map(({ token }) => token)
  }
}
