/**
 * Attempts of operations in the faulty world. The handler is the one of the data port; made up are its client, which
 * sends a body or leaves, and the resource, which answers as the client's step says.
 */
import type { OnceRule, Route } from '../../src/config/config.ts'
import type { Ending, OperationAnswer, Outcome, WriteRule } from '../../src/gate/admission.ts'
import type { Gate } from '../../src/gate/gate.ts'
import type { HeldPermit, Permit } from '../../src/gate/permit.ts'
import { fingerprintOf, operationId } from '../../src/journal/operations.ts'
import { attemptOnce, type OnceRequest, type ReadyAttempt } from '../../src/proxy/once.ts'
import { type Claim, NO_TOKEN } from '../../src/token.ts'
import { BODY, FakeExchange, FakeRequest } from './faulty-exchange.ts'
import type { AttemptRequest, OperationsJudge } from './faulty-operations.ts'
import type { Oracle, SentAttempt, Write } from './faulty-oracle.ts'
import { pick } from './faulty-steps.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface AttemptStep {
  readonly kind: 'attempt'
  readonly pick: number
  /** How far above the mark its token is; `undefined`: it comes without one. */
  readonly above: number | undefined
  readonly holder: string | undefined
  readonly rule: number
  readonly once: number
  readonly key: number
  /** Whether the client writes the key as a structured string. */
  readonly quoted: boolean
  readonly target: number
  /** Whether its body comes in a step of its own. */
  readonly late: boolean
  /** What the resource answers with, if it does. */
  readonly status: number
}

export type ClientStep = { readonly kind: 'body' | 'leave' | 'early'; readonly pick: number }

/** What routes with `guard: once` can say of writes: an intent is always on record. */
const WRITE_RULES: readonly WriteRule[] = [
  { handover: 'drain', holds: false, intent: false, standing: false },
  { handover: 'drain', holds: true, intent: false, standing: false },
  { handover: 'abort', holds: false, intent: false, standing: false },
]

const FOREVER_MS = 1e15
const RULE: OnceRule = {
  scope: 'default',
  repeatUnknown: 'send',
  keyLifetimeMs: FOREVER_MS,
  expired: 'refuse',
  finalStatuses: [402],
  keepHeaders: ['content-type'],
  keepBodyBytes: 100,
  redact: [],
  maxBodyBytes: 100,
  providerKey: 'forward',
  retentionMs: FOREVER_MS,
}

/** And of operations. */
export const ONCE_RULES: readonly OnceRule[] = [
  RULE,
  { ...RULE, repeatUnknown: 'hold' },
  { ...RULE, providerKey: 'derive' },
  { ...RULE, keyLifetimeMs: 0 },
  { ...RULE, keyLifetimeMs: 0, expired: 'send' },
]

/** By the mark's holder, on a route that lets everything be repeated. */
export const PLAIN_ATTEMPT: AttemptStep = {
  ...{ kind: 'attempt', pick: 0, above: 0, holder: undefined, rule: 0, once: ONCE_RULES.length - 1 },
  ...{ key: 1, quoted: false, target: 1, late: false, status: 200 },
}

const ROUTE = { name: 'charges', unknownStatuses: [] } as unknown as Route
/** Far longer than any history takes, and no longer than a timer can be set. */
const LIMITS = { silenceMs: 2 ** 30, bytesPerSecond: 0, bodySize: 100 }

interface Surroundings {
  readonly gate: Gate
  readonly clock: VirtualClock
  readonly oracle: Oracle
  readonly judge: OperationsJudge
  readonly mark: (task: string) => bigint
  readonly permitted: (write: Write, holder: string | undefined) => void
  readonly guard: (check: () => void) => void
  readonly fault: (error: unknown) => void
}

export class FaultyAttempts {
  readonly #world: Surroundings
  readonly #bodies = new Set<FakeRequest>()
  readonly #sent: FakeSending[] = []
  /** Requests that were neither sent nor answered, and whose clients are there. */
  waiting = 0
  #ended = false

  constructor(world: Surroundings) {
    this.#world = world
  }

  attempt(step: AttemptStep, task: string): void {
    const { mark, oracle, clock, judge } = this.#world
    const beside = mark(task) + BigInt(step.above ?? 0)
    const token = step.above === undefined ? NO_TOKEN : beside < 1n ? 1n : beside
    const claim = {
      task,
      token,
      ...(step.holder !== undefined && token !== NO_TOKEN && { holder: step.holder }),
    }
    const rule = ONCE_RULES[step.once] as OnceRule
    const key = `key-${step.key}`
    const req = new FakeRequest(`/charges/${step.target}`, step.quoted ? `"${key}"` : key)
    const fingerprint = fingerprintOf('POST', req.url, BODY)
    const operation = operationId({ scope: rule.scope, task, key })
    const asked = judge.asked({ operation, fingerprint, rule, sinceMs: clock.now() })
    const request = {
      task,
      token,
      holder: claim.holder,
      sinceMs: clock.now(),
      operation,
      ...oracle.past(task),
    }
    this.waiting++
    let over = false
    const leave = (check: () => void) => {
      if (this.#ended || over) return
      over = true
      this.waiting--
      this.#world.guard(() => {
        check()
        judge.left(asked, clock.now())
      })
    }
    const exchange = new FakeExchange(req, {
      refused: (refusal) =>
        leave(() => {
          if (judge.refused(asked, refusal)) oracle.saw(refusal.code)
          else oracle.refused(request, refusal, clock.now())
        }),
      replayed: (replayed) =>
        leave(() => {
          oracle.saw('replayed')
          judge.replayed(asked, replayed)
        }),
    })
    if (step.late) this.#bodies.add(req)
    else req.arrive()
    const once = {
      ...{ exchange, route: ROUTE, rule, claim, key, limits: LIMITS, storeTimeoutMs: 1, sealing: undefined },
      facts: { route: ROUTE.name, method: 'POST', target: req.url, operation: req.key },
      writeRule: WRITE_RULES[step.rule] as WriteRule,
      send: (permit: Permit, ready: ReadyAttempt) =>
        leave(() => this.#send(permit, ready, { asked, claim, key: req.key, status: step.status })),
    } as unknown as OnceRequest
    attemptOnce(this.#world.gate, once).then(() => leave(() => oracle.saw('client left')), this.#world.fault)
  }

  step(step: AttemptStep | ClientStep, task: string): void {
    if (step.kind === 'attempt') this.attempt(step, task)
    else this.#client(step)
  }

  #client({ kind, pick: index }: ClientStep): void {
    const req = pick([...this.#bodies], index)
    if (kind === 'early')
      pick(
        this.#sent.filter(({ mayBeEarly }) => mayBeEarly),
        index,
      )?.early()
    else if (req) {
      this.#bodies.delete(req)
      if (kind === 'body') req.arrive()
      else req.leave()
    }
  }

  /** Every body that was announced comes. */
  finishBodies(): void {
    for (const req of this.#bodies) req.arrive()
    this.#bodies.clear()
  }

  /** The process is gone; its clients hear nothing. */
  end(): void {
    this.#ended = true
    for (const req of this.#bodies) req.leave()
    for (const sending of this.#sent) sending.ended = true
  }

  #send(permit: Permit, ready: ReadyAttempt, from: From): void {
    const sending = new FakeSending(this.#world, permit, ready, from)
    this.#sent.push(sending)
    this.#world.permitted(sending.write, from.claim.holder)
  }
}

interface From {
  readonly asked: AttemptRequest
  readonly claim: Claim
  /** As its client wrote it. */
  readonly key: string
  readonly status: number
}

/** What sends an attempt, and has the resource's answer for it. */
class FakeSending implements SentAttempt {
  readonly write: Write
  readonly #world: Surroundings
  readonly #ready: ReadyAttempt
  readonly #from: From
  #early: OperationAnswer | undefined
  /** Its process is gone. */
  ended = false

  constructor(world: Surroundings, permit: Permit, ready: ReadyAttempt, from: From) {
    const { admission } = permit as unknown as HeldPermit
    const { task, token } = from.claim
    // Whatever its rule says, an attempt has an intent on record.
    const rule = { ...admission.rule, intent: true }
    const state = { state: 'held', outcome: undefined, interruption: undefined } as const
    this.write = { id: admission.id, task, token, rule, permit, attempt: this, ...state }
    this.#world = world
    this.#ready = ready
    this.#from = from
  }

  get operation(): string {
    return this.#from.asked.operation
  }

  get mayBeEarly(): boolean {
    return this.write.state === 'begun' && !this.#early && !this.ended
  }

  begun(): void {
    const { oracle, judge } = this.#world
    oracle.saw(this.write.token === NO_TOKEN ? 'attempt without a token' : 'attempt')
    judge.sent(this.#from.asked, this.write.id, this.#ready.providerKey ?? this.#from.key)
    const { isFinal } = this.#ready.answerRule
    const finals = [200, 402, 500].filter(isFinal)
    const expected = judge.everUnknown(this.operation) ? [200] : [200, 402]
    if (finals.join() !== expected.join()) throw new Error(`${finals} are final, not ${expected}`)
  }

  release(outcome: Outcome): void {
    const answered = outcome === 'answered' ? (this.#early ?? this.#answer(BODY)) : undefined
    const ending: Ending =
      outcome === 'unknown' ? { outcome, reason: 'timeout', bytesSent: 0 } : { outcome, answer: answered }
    this.write.permit.release(ending, () =>
      this.#hear(() => {
        this.#world.judge.over(this.operation, this.write.id)
        if (answered) this.#told(answered)
      }),
    )
  }

  /** The answer is longer than what is kept, and goes on. */
  early(): void {
    const answer = this.#answer(undefined)
    this.#early = answer
    void this.#ready.answerRule.recordEarly(answer).then(() =>
      this.#hear(() => {
        // One that was cut off meanwhile is given up.
        if (this.write.state !== 'begun') return
        this.#world.oracle.saw('early answer')
        this.#told(answer)
      }),
    )
  }

  #hear(what: () => void): void {
    if (!this.ended) this.#world.guard(what)
  }

  #told({ final, recorded }: OperationAnswer): void {
    if (final && recorded) this.#world.judge.told(this.operation, recorded)
  }

  #answer(body: Buffer | undefined): OperationAnswer {
    const { status } = this.#from
    const { isFinal, keep } = this.#ready.answerRule
    const final = isFinal(status)
    return { status, final, recorded: final ? keep(status, ['Content-Type', 'text/plain'], body) : undefined }
  }
}
