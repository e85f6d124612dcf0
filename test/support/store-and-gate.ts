/** A gate on a store in memory and a virtual clock, for tests that tell one story each. */
import assert from 'node:assert/strict'
import type { Refusal } from '../../src/errors.ts'
import { Admission, Attempt, type Ending, NO_WRITE, type WriteRule } from '../../src/gate/admission.ts'
import { Gate } from '../../src/gate/gate.ts'
import { Operator } from '../../src/gate/operator.ts'
import type { GateOptions } from '../../src/gate/options.ts'
import type { Permit } from '../../src/gate/permit.ts'
import { Usage } from '../../src/gate/usage.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { MAX_TOKEN, type Token } from '../../src/token.ts'
import { type Fate, MemoryMarkStore } from './memory-mark-store.ts'
import { MemoryDisk, type StoredMark } from './store-memory-disk.ts'
import { settled, VirtualClock } from './virtual-clock.ts'

export const ANSWERED: Ending = { outcome: 'answered' }
export const NOT_SENT: Ending = { outcome: 'not-sent' }
export const UNKNOWN: Ending = { outcome: 'unknown', reason: 'timeout', bytesSent: 12 }

export const FACTS = { route: 'settlements', method: 'POST', target: '/settlements/k', operation: 'op-1' }

export const HANDOVER_TIMEOUT_MS = 1_000
export const DRAIN_LIMIT_MS = 3_000
export const GRACE_MS = 5_000
export const STORE_TIMEOUT_MS = 400

interface RigOptions extends Partial<Omit<GateOptions, 'store' | 'clock' | 'observer'>> {
  readonly marks?: Readonly<Record<string, StoredMark>>
  readonly floor?: Token
}

/** How a test's request differs from the plainest. */
export interface AskOptions extends Partial<WriteRule> {
  readonly task?: string
  readonly holder?: string
}

/** A request, and what became of it so far. */
export interface Asked {
  answer: Permit | Refusal | undefined
  readonly admission: Admission
}

export class GateRig {
  readonly clock = new VirtualClock()
  readonly disk: MemoryDisk
  readonly store: MemoryMarkStore
  readonly gate: Gate
  readonly operator: Operator
  readonly usage: Usage
  /** Tasks of which a write was permitted, as told to the observer. */
  readonly used: string[] = []
  /** Milliseconds of each raise and handover, as told to the observer. */
  readonly raisedMs: number[] = []
  readonly handedOverMs: number[] = []

  constructor({ marks = {}, floor = 0n, ...options }: RigOptions = {}) {
    this.disk = new MemoryDisk(floor)
    for (const [task, mark] of Object.entries(marks)) this.disk.marks.set(task, mark)
    this.store = new MemoryMarkStore(this.disk)
    this.gate = new Gate({
      handoverTimeoutMs: HANDOVER_TIMEOUT_MS,
      drainLimitMs: DRAIN_LIMIT_MS,
      graceMs: 0,
      storeTimeoutMs: STORE_TIMEOUT_MS,
      cachedTasks: 10,
      maxTokenJump: undefined,
      limits: { openWrites: 100, openWritesPerTask: 100, waitersPerTask: 1000 },
      ...options,
      store: this.store,
      clock: this.clock,
      observer: {
        raised: (ms) => this.raisedMs.push(ms),
        handedOver: (ms) => this.handedOverMs.push(ms),
        used: (task) => this.used.push(task),
      },
    })
    this.usage = new Usage(this.store, this.clock)
    this.operator = new Operator({
      gate: this.gate,
      store: this.store,
      usage: this.usage,
      clock: this.clock,
      maxToken: MAX_TOKEN,
    })
  }

  /** A request enters the gate; nothing is served yet. */
  ask(token: Token, options: AskOptions | string = {}): Asked {
    const { task = 'k', holder, ...rule } = typeof options === 'string' ? { task: options } : options
    const claim = holder === undefined ? { task, token } : { task, token, holder }
    return this.#enter(new Admission(claim, { ...NO_WRITE, ...rule }, FACTS))
  }

  /** A request that attempts the operation of this key, of the task k, enters the gate; its route holds. */
  attempt(token: Token, key = 'op-1'): Asked {
    const rule = { ...NO_WRITE, holds: true }
    const attempt = new Attempt({ scope: 'default', task: 'k', key })
    return this.#enter(new Admission({ task: 'k', token }, rule, { ...FACTS, operation: key }, attempt))
  }

  #enter(admission: Admission): Asked {
    const asked: Asked = { answer: undefined, admission }
    void this.gate.admit(admission).then((answer) => {
      asked.answer = answer
    })
    return asked
  }

  /** Ends what the store has pending, and lets what follows from that run. */
  async serve(fate: Fate = 'done'): Promise<void> {
    await settled()
    this.store.serveAll(fate)
    await settled()
  }

  /** Serves the store until it has nothing to do. */
  async serveAll(): Promise<void> {
    do await this.serve()
    while (this.store.pending.length > 0)
  }

  /** Asks and serves until there is an answer, which has to be a permit. */
  async permit(token: Token, options: AskOptions | string = {}): Promise<Permit> {
    const asked = this.ask(token, options)
    await this.serveAll()
    return permitOf(asked)
  }

  /** Asks and serves until there is an answer, which has to be a refusal. */
  async refusal(token: Token, options: AskOptions | string = {}): Promise<Refusal> {
    const asked = this.ask(token, options)
    await this.serveAll()
    return refusalOf(asked)
  }

  /** Asks, serves, begins: a write at work in the resource. */
  async begun(token: Token, options: AskOptions | string = {}): Promise<Permit> {
    const permit = await this.permit(token, options)
    assert.equal(permit.begin(), true)
    return permit
  }

  /** Serves the store until an operator's act is over. */
  async done<T>(act: Promise<T>): Promise<T> {
    act.catch(() => {}) // Whoever awaits it below sees it.
    await this.serveAll()
    return act
  }

  /** What is pending at the store, as text: `load`, `record 9`, `record 9 complete + intent`. */
  get pending(): string[] {
    return this.store.pending.map(({ task, changes }) => {
      if (changes) return changes.map(asText).join(' + ')
      return task === undefined ? 'read' : 'load'
    })
  }
}

function asText(change: Change): string {
  if (change.kind === 'mark') return `record ${change.token}${change.complete ? ' complete' : ''}`
  if (change.kind === 'frozen') return change.frozen ? 'frozen' : 'thawed'
  return change.kind
}

export function permitOf({ answer }: Asked): Permit {
  assert.ok(answer, 'no answer yet')
  assert.ok(!('code' in answer), `refused: ${'code' in answer && answer.code}`)
  return answer
}

export function refusalOf({ answer }: Asked): Refusal {
  assert.ok(answer, 'no answer yet')
  assert.ok('code' in answer, 'not refused')
  return answer
}
