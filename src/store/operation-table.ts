/**
 * Operations and their attempts in SQLite, and what is known of an operation by how its attempts ended.
 *
 * Invariants: `done` stays, and an answer is never replaced by another; short of that an operation is `open` while an
 * attempt of it is, `unknown` while one ended so and nobody has resolved it, and `failed` otherwise. The same change a
 * second time changes nothing.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type {
  AttemptEnd,
  AttemptRecord,
  KeptBody,
  OperationRecord,
  OperationState,
  RecordedAnswer,
} from '../journal/operations.ts'
import type { Resolution } from '../journal/records.ts'
import type { RetentionClock } from './retention-clock.ts'
import { UNSETTLED } from './schema.ts'

export class OperationTable {
  readonly #clock: RetentionClock
  readonly #insert: StatementSync
  readonly #insertAttempt: StatementSync
  readonly #open: StatementSync
  readonly #end: StatementSync
  readonly #answer: StatementSync
  readonly #done: StatementSync
  readonly #settle: StatementSync
  readonly #resolve: StatementSync
  readonly #one: StatementSync
  readonly #erase: StatementSync
  readonly #doubt: StatementSync
  readonly #endOpen: StatementSync

  constructor(db: DatabaseSync, clock: RetentionClock) {
    this.#clock = clock
    this.#insert = db.prepare(
      'INSERT INTO operations (id, scope, task, key, fingerprint, provider_key, state, ever_unknown, first_at_ms, ' +
        'last_at_ms, key_until_ms, keep_until_ms) ' +
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open', 0, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
    )
    this.#insertAttempt = db.prepare(
      'INSERT INTO attempts (id, operation, task, token, holder, route, method, target, at_ms, outcome, final) ' +
        "SELECT ?1, seq, task, ?3, ?4, ?5, ?6, ?7, ?8, 'open', 0 FROM operations WHERE id = ?2 ON CONFLICT DO NOTHING",
    )
    this.#open = db.prepare(
      "UPDATE operations SET state = iif(state = 'done', 'done', 'open'), last_at_ms = max(last_at_ms, ?2), " +
        'key_until_ms = max(key_until_ms, ?3), keep_until_ms = max(keep_until_ms, ?4) WHERE id = ?1',
    )
    this.#end = db.prepare(
      'UPDATE attempts SET outcome = ?2, status = ?3, final = ?4, reason = ?5, ended_at_ms = ?6 ' +
        "WHERE id = ?1 AND outcome = 'open' RETURNING operation",
    )
    this.#answer = db.prepare(
      'UPDATE operations SET status = ?2, headers = ?3, body_kept = ?4, body = ?5 WHERE seq = ?1 AND status IS NULL',
    )
    this.#done = db.prepare("UPDATE operations SET state = 'done' WHERE seq = ?")
    const unsettled = `SELECT 1 FROM attempts WHERE operation = ?1 AND ${UNSETTLED}`
    this.#settle = db.prepare(
      "UPDATE operations SET ever_unknown = max(ever_unknown, ?2), state = CASE WHEN state = 'done' THEN 'done' " +
        `WHEN EXISTS (${unsettled} AND outcome = 'open') THEN 'open' ` +
        `WHEN EXISTS (${unsettled} AND outcome = 'unknown') THEN 'unknown' ELSE 'failed' END WHERE seq = ?1`,
    )
    this.#resolve = db.prepare(
      "UPDATE attempts SET resolution = ?2 WHERE id = ?1 AND outcome = 'unknown' AND resolution IS NULL " +
        'RETURNING operation',
    )
    this.#one = db.prepare('SELECT * FROM operations WHERE id = ?')
    this.#erase = db.prepare(
      "UPDATE operations SET body_kept = 'erased', body = NULL WHERE task = ? AND body IS NOT NULL",
    )
    const open = `FROM attempts WHERE ${UNSETTLED} AND outcome = 'open'`
    this.#doubt = db.prepare(
      "UPDATE operations SET ever_unknown = 1, state = iif(state = 'done', 'done', 'unknown') " +
        `WHERE seq IN (SELECT operation ${open})`,
    )
    this.#endOpen = db.prepare(
      "UPDATE attempts SET outcome = 'unknown', reason = 'restart', ended_at_ms = ?1 " +
        `WHERE seq IN (SELECT seq ${open})`,
    )
  }

  /** At start: what was open when the process before ended is unknown. */
  endOpenAttempts(nowMs: number): void {
    this.#doubt.run()
    this.#endOpen.run(nowMs)
  }

  attempt(attempt: AttemptRecord): void {
    const { id, operation, token, holder, route, method, target, atMs, keepMs } = attempt
    const { scope, task, key, fingerprint, providerKey, firstAtMs } = operation
    const fromMs = this.#clock.usedMs(atMs)
    const keyUntilMs = Math.ceil(fromMs + (attempt.keyLifetimeMs ?? keepMs))
    const times = [atMs, keyUntilMs, Math.max(keyUntilMs, Math.ceil(fromMs + keepMs))] as const
    this.#insert.run(operation.id, scope, task, key, fingerprint, providerKey, firstAtMs, ...times)
    const named = [id, operation.id, token ?? null, holder ?? null, route, method, target, atMs] as const
    if (this.#insertAttempt.run(...named).changes !== 0) this.#open.run(operation.id, ...times)
  }

  ended(id: string, { outcome, status, reason, answer, final, endedAtMs }: AttemptEnd): void {
    const isFinal = final && outcome === 'answered'
    const row = this.#end.get(id, outcome, status ?? null, isFinal ? 1 : 0, reason ?? null, endedAtMs)
    if (!row) return
    const operation = row.operation as number
    if (isFinal) this.#finish(operation, answer)
    else this.#settle.run(operation, outcome === 'unknown' ? 1 : 0)
  }

  /** Somebody found out what became of an attempt that ended unknown. */
  resolved(id: string, resolution: Resolution): void {
    const row = this.#resolve.get(id, resolution)
    if (!row) return
    const operation = row.operation as number
    if (resolution === 'not-applied') this.#settle.run(operation, 0)
    else this.#finish(operation, undefined)
  }

  eraseBodies(task: string): void {
    this.#erase.run(task)
  }

  one(id: string): OperationRecord | undefined {
    const row = this.#one.get(id)
    return row && { ...toOperation(row), answer: toAnswer(row) }
  }

  #finish(operation: number, answer: RecordedAnswer | undefined): void {
    this.#done.run(operation)
    if (!answer) return
    const { status, headers, bodyKept, body } = answer
    this.#answer.run(operation, status, JSON.stringify(headers), bodyKept, body ?? null)
  }
}

/** All of an operation's row but its answer. */
export function toOperation(row: Record<string, unknown>): Omit<OperationRecord, 'answer'> {
  return {
    id: row.id as string,
    scope: row.scope as string,
    task: row.task as string,
    key: row.key as string,
    fingerprint: row.fingerprint as string,
    state: row.state as OperationState,
    providerKey: row.provider_key as string,
    firstAtMs: row.first_at_ms as number,
    everUnknown: row.ever_unknown === 1,
  }
}

function toAnswer(row: Record<string, unknown>): RecordedAnswer | undefined {
  if (row.status === null) return undefined
  const kept = { bodyKept: row.body_kept, body: row.body ?? undefined } as KeptBody
  return { ...kept, status: row.status as number, headers: JSON.parse(row.headers as string) }
}
