/**
 * Writes on record in SQLite: intents while they are open, unknown outcomes until they are resolved and
 * after. Invariant: a row without a resolution is never deleted, except an intent whose write has ended.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UnknownEnd, UnknownWrite, WriteRecord } from '../journal/records.ts'
import type { Token } from '../token.ts'
import type { Change, HeldWrite } from './mark-store.ts'
import type { RetentionClock } from './retention-clock.ts'

type Resolved = Extract<Change, { kind: 'resolved' }>

export class WriteTable {
  readonly #clock: RetentionClock
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #end: StatementSync
  readonly #resolve: StatementSync
  readonly #held: StatementSync
  readonly #unresolved: StatementSync
  readonly #unresolvedOfTask: StatementSync
  readonly #one: StatementSync
  readonly #restart: StatementSync

  constructor(db: DatabaseSync, clock: RetentionClock) {
    this.#clock = clock
    this.#insert = db.prepare(
      'INSERT INTO writes (id, task, token, holder, holds, route, method, target, operation, admitted_at_ms) ' +
        'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    )
    this.#delete = db.prepare('DELETE FROM writes WHERE id = ? AND reason IS NULL')
    this.#end = db.prepare(
      'UPDATE writes SET reason = ?2, bytes_sent = ?3, ended_at_ms = ?4 WHERE id = ?1 AND reason IS NULL',
    )
    this.#resolve = db.prepare(
      'UPDATE writes SET resolution = ?2, resolved_by = ?3, note = ?4, resolved_at_ms = ?5 ' +
        'WHERE id = ?1 AND reason IS NOT NULL AND resolution IS NULL',
    )
    const unresolved = 'FROM writes WHERE resolution IS NULL AND reason IS NOT NULL'
    this.#held = db.prepare(
      'SELECT id, token, (SELECT o.id FROM attempts a JOIN operations o ON o.seq = a.operation ' +
        `WHERE a.id = writes.id) AS attempted ${unresolved} AND task = ? AND holds = 1 ORDER BY rowid`,
    )
    this.#unresolved = db.prepare(`SELECT * ${unresolved} ORDER BY rowid LIMIT ?`)
    this.#unresolvedOfTask = db.prepare(`SELECT * ${unresolved} AND task = ? ORDER BY rowid LIMIT ?`)
    this.#one = db.prepare('SELECT * FROM writes WHERE id = ? AND reason IS NOT NULL')
    this.#restart = db.prepare("UPDATE writes SET reason = 'restart', ended_at_ms = ? WHERE reason IS NULL")
    for (const statement of [this.#held, this.#unresolved, this.#unresolvedOfTask, this.#one])
      statement.setReadBigInts(true)
  }

  /** At start: what was open when the process before ended is unknown. */
  endOpenIntents(nowMs: number): void {
    this.#restart.run(nowMs)
  }

  intend(write: WriteRecord): void {
    this.#insert.run(
      write.id,
      write.task,
      write.token,
      write.holder ?? null,
      write.holds ? 1 : 0,
      write.route,
      write.method,
      write.target,
      write.operation ?? null,
      write.admittedAtMs,
    )
  }

  ended(id: string): void {
    this.#delete.run(id)
  }

  /** Returns how many unresolved writes it added: 0 or 1. */
  unknown(write: WriteRecord, { reason, bytesSent, endedAtMs }: UnknownEnd): number {
    this.intend(write)
    return Number(this.#end.run(write.id, reason, bytesSent ?? null, endedAtMs).changes)
  }

  /** Returns how many unresolved writes it removed: 0 or 1. */
  resolve({ id, resolution, by, note, atMs }: Resolved): number {
    return Number(this.#resolve.run(id, resolution, by, note, this.#clock.usedMs(atMs)).changes)
  }

  held(task: string): HeldWrite[] {
    return this.#held.all(task).map(({ id, token, attempted }) => ({
      id: id as string,
      token: token as Token,
      operation: (attempted as string | null) ?? undefined,
    }))
  }

  unresolved(limit: number, task: string | undefined): UnknownWrite[] {
    const rows = task === undefined ? this.#unresolved.all(limit) : this.#unresolvedOfTask.all(task, limit)
    return rows.map(toUnknownWrite)
  }

  one(id: string): UnknownWrite | undefined {
    const row = this.#one.get(id)
    return row && toUnknownWrite(row)
  }
}

function toUnknownWrite(row: Record<string, unknown>): UnknownWrite {
  const value = <T>(column: string) => (row[column] ?? undefined) as T
  const number = (column: string) => (row[column] == null ? undefined : Number(row[column]))
  return {
    id: value('id'),
    task: value('task'),
    token: value('token'),
    holder: value('holder'),
    holds: row.holds === 1n,
    route: value('route'),
    method: value('method'),
    target: value('target'),
    operation: value('operation'),
    admittedAtMs: number('admitted_at_ms') as number,
    reason: value('reason'),
    bytesSent: number('bytes_sent'),
    endedAtMs: number('ended_at_ms') as number,
    resolution: value('resolution'),
    resolvedBy: value('resolved_by'),
    note: value('note'),
    resolvedAtMs: number('resolved_at_ms'),
  }
}
