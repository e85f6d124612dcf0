/**
 * The judge of operations in the faulty world: a toy model of each, made of what its clients were told, what reached
 * the resource and what is durable. It outlives the processes.
 */
import assert from 'node:assert/strict'
import type { OnceRule } from '../../src/config/config.ts'
import type { Refusal } from '../../src/errors.ts'
import type { ListedAttempt, OperationRecord, RecordedAnswer } from '../../src/journal/operations.ts'
import type { Change } from '../../src/store/mark-store.ts'
import type { MemoryDisk } from './store-memory-disk.ts'

/** One request that attempts an operation. */
export interface AttemptRequest {
  readonly operation: string
  readonly fingerprint: string
  readonly rule: OnceRule
  readonly sinceMs: number
  /** When it was made, among all that the judge has seen. */
  readonly moment: number
}

/** What a client was given from the record. */
export interface Replayed {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: Buffer
}

class Operation {
  /** Requests that have neither been sent nor answered. */
  readonly waiting = new Set<AttemptRequest>()
  /** Ids of attempts whose intent was submitted, and whose end the process doesn't know to be durable. */
  readonly unended = new Set<string>()
  /** When one of those was last over. */
  overMs = 0
  /** The attempt that the resource has, as far as this process knows. */
  open: string | undefined
  providerKey: string | undefined
  /** The final answer that a client was given. */
  told: RecordedAnswer | undefined
  /** When somebody last said on record what became of an attempt. */
  resolvedMoment = 0
}

export class OperationsJudge {
  readonly #disk: MemoryDisk
  readonly #operations = new Map<string, Operation>()
  readonly #operationOf = new Map<string, string>()
  #moment = 0

  constructor(disk: MemoryDisk) {
    this.#disk = disk
  }

  /** The ids of the operations that were ever asked for. */
  get known(): string[] {
    return [...this.#operations.keys()]
  }

  asked(request: Omit<AttemptRequest, 'moment'>): AttemptRequest {
    const asked = { ...request, moment: ++this.#moment }
    this.#of(asked.operation).waiting.add(asked)
    return asked
  }

  /** The process waits for these to be durable. */
  awaited(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.kind === 'attempt') {
        const { id, operation } = change.attempt
        this.#operationOf.set(id, operation.id)
        this.#of(operation.id).unended.add(id)
      } else if (change.kind === 'attempt-ended') this.#of(change.operation).unended.add(change.id)
    }
  }

  stored(changes: readonly Change[], nowMs: number): void {
    for (const change of changes) {
      if (change.kind === 'attempt') {
        const open = this.#attempts(change.attempt.operation.id).filter(({ outcome }) => outcome === 'open')
        assert.ok(open.length <= 1, 'two attempts of one operation are open on record')
      } else if (change.kind === 'attempt-ended') {
        const operation = this.#of(change.operation)
        operation.unended.delete(change.id)
        operation.overMs = nowMs
        if (operation.told) this.#isDone(change.operation, operation.told)
      } else if (change.kind === 'resolved') {
        const id = this.#operationOf.get(change.id)
        if (id) this.#of(id).resolvedMoment = ++this.#moment
      }
    }
  }

  /** Its first byte reaches the resource, with this key for the provider. */
  sent({ operation: id, fingerprint, moment }: AttemptRequest, write: string, providerKey: string): void {
    const operation = this.#of(id)
    assert.equal(operation.open, undefined, 'two attempts of one operation were open at once')
    assert.equal(operation.told, undefined, 'sent again after a final answer was given')
    const record = this.#record(id)
    assert.equal(record.answer, undefined, 'sent again after a final answer was durable')
    // Whoever says that it was applied is late for those that were admitted before.
    const early = moment < operation.resolvedMoment
    assert.ok(record.state === 'open' || early, `sent although its operation is ${record.state}`)
    const attempt = this.#attempts(id).find((listed) => listed.id === write)
    assert.equal(attempt?.outcome, 'open', 'sent without a durable attempt')
    assert.equal(record.fingerprint, fingerprint, 'sent without its fingerprint on record')
    assert.equal(record.providerKey, providerKey, 'sent with another key than the one on record')
    operation.providerKey ??= providerKey
    assert.equal(providerKey, operation.providerKey, 'two attempts carry different keys')
    operation.open = write
  }

  /** Whether an attempt of it ever ended without a known outcome. */
  everUnknown(id: string): boolean {
    return this.#record(id).everUnknown
  }

  /** The sender is done with it, and that is on record. */
  over(id: string, write: string): void {
    const operation = this.#of(id)
    if (operation.open === write) operation.open = undefined
  }

  /** A client was given a final answer of the resource's. */
  told(id: string, answer: RecordedAnswer): void {
    const operation = this.#of(id)
    operation.told ??= answer
    this.#isDone(id, operation.told)
  }

  /** The request is not in the gate any more: it was sent, answered or given up. */
  left(request: AttemptRequest, nowMs: number): void {
    const operation = this.#of(request.operation)
    operation.waiting.delete(request)
    operation.overMs = nowMs
  }

  replayed({ operation: id, fingerprint }: AttemptRequest, { status, headers, body }: Replayed): void {
    const { state, answer, fingerprint: first } = this.#record(id)
    assert.equal(state, 'done', 'answered from the record, which has no final answer')
    assert.ok(answer?.body, 'a body was replayed that is not on record')
    assert.equal(fingerprint, first, "another request's answer was replayed")
    const own = ['Idempotent-Replayed', 'true', 'Content-Length', String(answer.body.byteLength)]
    assert.deepEqual([status, headers, body], [answer.status, [...answer.headers, ...own], answer.body])
    const { told } = this.#of(id)
    if (told) assert.deepEqual(answer, told, 'another answer was replayed than was given first')
  }

  /** Whether the refusal is one of operations, and then a right one. */
  refused(request: AttemptRequest, refusal: Refusal): boolean {
    const { operation: id, rule, fingerprint } = request
    const operation = this.#of(id)
    const expired = rule.keyLifetimeMs === 0
    switch (refusal.code) {
      case 'operation-in-progress': {
        const others = operation.waiting.size - 1 + operation.unended.size
        const since = operation.overMs >= request.sinceMs
        assert.ok(others > 0 || since || operation.open, 'in progress, but nobody attempts it')
        return true
      }
      case 'operation-mismatch':
        assert.notEqual(this.#record(id).fingerprint, fingerprint, 'the same request was called another')
        return true
      case 'operation-unknown':
        assert.ok(this.#record(id).everUnknown, 'called unknown, but never was')
        assert.ok(rule.repeatUnknown === 'hold' || expired, 'held although it may be repeated')
        return true
      case 'operation-expired':
        assert.ok(expired && rule.expired === 'refuse' && this.#record(id), 'called expired, but is not')
        return true
      case 'operation-done':
        assert.equal(this.#record(id).state, 'done', 'called done, but is not')
        assert.equal(this.#record(id).answer?.body, undefined, 'an answer on record was not replayed')
        return true
      default:
        return false
    }
  }

  processEnded(): void {
    for (const operation of this.#operations.values()) {
      operation.waiting.clear()
      operation.unended.clear()
      operation.open = undefined
    }
  }

  #isDone(id: string, answer: RecordedAnswer): void {
    const record = this.#record(id)
    assert.equal(record.state, 'done', 'a final answer was given that is not on record')
    assert.deepEqual(record.answer, answer, 'another answer is on record than was given')
  }

  #of(id: string): Operation {
    const operation = this.#operations.get(id) ?? new Operation()
    this.#operations.set(id, operation)
    return operation
  }

  #record(id: string): OperationRecord {
    const record = this.#disk.operations.one(id)
    assert.ok(record, 'nothing is on record of the operation')
    return record
  }

  #attempts(operation: string): ListedAttempt[] {
    const everything = { task: undefined, token: undefined, limit: Number.MAX_SAFE_INTEGER, after: 0 }
    return [...this.#disk.operations.attempts({ ...everything, operation }).rows]
  }
}
