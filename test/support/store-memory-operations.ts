/**
 * Operations and attempts as plain maps. An operation's state isn't kept: it is told from what happened to it, so that
 * a state machine that went wrong on its way has something to be compared with.
 */
import type {
  AttemptEnd,
  AttemptRecord,
  ListedAttempt,
  ListedOperation,
  OperationRecord,
  OperationState,
  RecordedAnswer,
} from '../../src/journal/operations.ts'
import type { AttemptsQuery, OperationsQuery, Page, PruneLimits } from '../../src/journal/queries.ts'
import type { Resolution } from '../../src/journal/records.ts'

interface StoredAttempt extends AttemptRecord {
  readonly seq: number
  end?: AttemptEnd
  resolution?: Resolution
}

interface StoredOperation {
  readonly seq: number
  readonly first: AttemptRecord['operation']
  readonly attempts: StoredAttempt[]
  answer?: RecordedAnswer
}

export class MemoryOperations {
  readonly #operations = new Map<string, StoredOperation>()
  readonly #attempts = new Map<string, StoredAttempt>()

  attempt(record: AttemptRecord): void {
    if (this.#attempts.has(record.id)) return
    const { id } = record.operation
    const operation = this.#operations.get(id) ?? {
      seq: nextSeq(this.#operations),
      first: record.operation,
      attempts: [],
    }
    this.#operations.set(id, operation)
    const attempt = { ...record, seq: nextSeq(this.#attempts) }
    operation.attempts.push(attempt)
    this.#attempts.set(record.id, attempt)
  }

  ended(id: string, end: AttemptEnd): void {
    const attempt = this.#attempts.get(id)
    if (!attempt || attempt.end) return
    const final = end.final && end.outcome === 'answered'
    attempt.end = { ...end, final }
    const operation = this.#operationOf(attempt)
    if (final && end.answer) operation.answer ??= end.answer
  }

  resolved(id: string, resolution: Resolution): void {
    const attempt = this.#attempts.get(id)
    if (attempt?.end?.outcome === 'unknown') attempt.resolution ??= resolution
  }

  restart(nowMs: number): void {
    const end = { outcome: 'unknown', reason: 'restart', final: false, endedAtMs: nowMs } as const
    for (const attempt of this.#attempts.values()) {
      attempt.end ??= { ...end, status: undefined, answer: undefined }
    }
  }

  eraseBodies(task: string): void {
    for (const operation of this.#operations.values()) {
      const { answer, first } = operation
      if (first.task === task && answer?.body) {
        operation.answer = { ...answer, bodyKept: 'erased', body: undefined }
      }
    }
  }

  one(id: string): OperationRecord | undefined {
    const operation = this.#operations.get(id)
    return operation && { ...recordOf(operation), answer: operation.answer }
  }

  idOfAttempt(id: string): string | undefined {
    return this.#attempts.get(id)?.operation.id
  }

  operations({ task, state, limit, after }: OperationsQuery): Page<ListedOperation> {
    const listed = [...this.#operations.values()].map(listOperation)
    const looked = listed.filter(
      (row) => (!state || state === 'done' || row.state === state) && (!task || row.task === task),
    )
    return page(looked, limit, after, (row) => !state || row.state === state)
  }

  attempts({ task, token, operation, limit, after }: AttemptsQuery): Page<ListedAttempt> {
    const listed = [...this.#attempts.values()].map((attempt) => listAttempt(attempt))
    const looked = listed.filter(
      (row) => (!task || row.operation.task === task) && (!operation || row.operation.id === operation),
    )
    return page(looked, limit, after, (row) => token === undefined || row.token === token)
  }

  /** Returns how many operations and attempts it forgot. */
  prune({ nowMs, maxRows }: PruneLimits): { operations: number; attempts: number } {
    const newest = [this.#operations, this.#attempts].map((map) => [...map.values()].at(-1))
    const expired = [...this.#operations.values()]
      .filter((operation) => keyUntil(operation) <= nowMs && isFinished(operation))
      .filter(
        (operation) => !newest.includes(operation) && !operation.attempts.some((a) => newest.includes(a)),
      )
      .sort((a, b) => keepUntil(a) - keepUntil(b))
    const surplus = this.#operations.size - maxRows
    const gone = expired.filter((operation, i) => i < surplus || keepUntil(operation) <= nowMs)
    for (const { first, attempts } of gone) {
      this.#operations.delete(first.id)
      for (const { id } of attempts) this.#attempts.delete(id)
    }
    return { operations: gone.length, attempts: gone.flatMap(({ attempts }) => attempts).length }
  }

  #operationOf(attempt: AttemptRecord): StoredOperation {
    return this.#operations.get(attempt.operation.id) as StoredOperation
  }
}

export function nextSeq(map: ReadonlyMap<unknown, { readonly seq: number }>): number {
  return ([...map.values()].at(-1)?.seq ?? 0) + 1
}

export function page<T extends { readonly seq: number }>(
  inOrder: readonly T[],
  limit: number,
  after: number,
  isWanted: (row: T) => boolean,
): Page<T> {
  const looked = inOrder.filter(({ seq }) => seq > after).slice(0, limit)
  return { rows: looked.filter(isWanted), next: looked.length < limit ? undefined : looked.at(-1)?.seq }
}

const isDoubtful = ({ end, resolution }: StoredAttempt) => end?.outcome === 'unknown' && !resolution

function stateOf({ attempts }: StoredOperation): OperationState {
  const applied = ({ end, resolution }: StoredAttempt) =>
    end?.final || resolution === 'applied' || resolution === 'compensated'
  if (attempts.some(applied)) return 'done'
  if (attempts.some(({ end }) => !end)) return 'open'
  return attempts.some(isDoubtful) ? 'unknown' : 'failed'
}

const isFinished = ({ attempts }: StoredOperation) =>
  attempts.every((attempt) => attempt.end && !isDoubtful(attempt))

const keyUntil = ({ attempts }: StoredOperation) =>
  Math.max(...attempts.map(({ atMs, keepMs, keyLifetimeMs }) => atMs + (keyLifetimeMs ?? keepMs)))

const keepUntil = (operation: StoredOperation) =>
  Math.max(keyUntil(operation), ...operation.attempts.map(({ atMs, keepMs }) => atMs + keepMs))

function recordOf(operation: StoredOperation): Omit<OperationRecord, 'answer'> {
  const everUnknown = operation.attempts.some(({ end }) => end?.outcome === 'unknown')
  return { ...operation.first, state: stateOf(operation), everUnknown }
}

function listOperation(operation: StoredOperation): ListedOperation {
  return {
    ...recordOf(operation),
    seq: operation.seq,
    status: operation.answer?.status,
    bodyKept: operation.answer?.bodyKept,
    lastAtMs: Math.max(...operation.attempts.map(({ atMs }) => atMs)),
    keepUntilMs: keepUntil(operation),
  }
}

function listAttempt({
  end,
  resolution,
  keepMs: _,
  keyLifetimeMs: __,
  ...record
}: StoredAttempt): ListedAttempt {
  const { id, scope, task, key } = record.operation
  return {
    ...record,
    operation: { id, scope, task, key },
    outcome: end?.outcome ?? 'open',
    status: end?.status,
    final: end?.final ?? false,
    reason: end?.reason,
    endedAtMs: end?.endedAtMs,
    resolution,
  }
}
