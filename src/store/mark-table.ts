/**
 * Marks and freezes in SQLite. Invariants: a token never goes down, and at one token `complete` never ends, but by a
 * reset; a mark is only forgotten where its task's floor is as high.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Token } from '../token.ts'
import type { FloorTable } from './floor-table.ts'
import type { Change, Mark } from './mark-store.ts'
import { RetentionClock } from './retention-clock.ts'

/** In the words of its index. An open intent is unresolved too. */
const UNRESOLVED = 'EXISTS (SELECT 1 FROM writes WHERE writes.task = marks.task AND resolution IS NULL)'
const FROZEN = 'EXISTS (SELECT 1 FROM frozen WHERE frozen.task = marks.task)'
/** Whether a mark may be forgotten, as far as that doesn't hang on its token and on when it was used. */
export const IDLE = `NOT ${FROZEN} AND NOT ${UNRESOLVED}`

export class MarkTable {
  readonly #floors: FloorTable
  readonly #clock: RetentionClock
  readonly #select: StatementSync
  readonly #update: StatementSync
  readonly #insert: StatementSync
  readonly #use: StatementSync
  readonly #reset: StatementSync
  readonly #retire: StatementSync
  readonly #freeze: StatementSync
  readonly #thaw: StatementSync
  readonly #isFrozen: StatementSync

  constructor(db: DatabaseSync, floors: FloorTable, clock = new RetentionClock()) {
    this.#floors = floors
    this.#clock = clock
    this.#select = db.prepare('SELECT token, complete, holder FROM marks WHERE task = ?')
    this.#select.setReadBigInts(true)
    this.#update = db.prepare(
      'UPDATE marks SET token = ?2, complete = ?3, holder = ?4, used_at_ms = max(used_at_ms, ?5) ' +
        'WHERE task = ?1 AND (token < ?2 OR (token = ?2 AND complete <= ?3))',
    )
    this.#insert = db.prepare('INSERT INTO marks VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING')
    this.#use = db.prepare('UPDATE marks SET used_at_ms = ?2 WHERE task = ?1 AND used_at_ms < ?2')
    this.#reset = db.prepare(
      'UPDATE marks SET token = ?2, complete = 1, holder = NULL, used_at_ms = max(used_at_ms, ?3) ' +
        `WHERE task = ?1 AND token >= ?2 AND ${FROZEN} AND NOT ${UNRESOLVED}`,
    )
    this.#retire = db.prepare(
      `DELETE FROM marks WHERE task = ?1 AND token <= ?2 AND used_at_ms < ?3 AND ${IDLE}`,
    )
    this.#freeze = db.prepare('INSERT INTO frozen VALUES (?) ON CONFLICT DO NOTHING')
    this.#thaw = db.prepare('DELETE FROM frozen WHERE task = ?')
    this.#isFrozen = db.prepare('SELECT 1 FROM frozen WHERE task = ?')
  }

  get(task: string): Mark {
    const row = this.#select.get(task)
    if (!row) return { token: this.#floors.of(task), complete: false, recorded: false, holder: undefined }
    return {
      token: row.token as Token,
      complete: row.complete === 1n,
      recorded: true,
      holder: (row.holder as string | null) ?? undefined,
    }
  }

  /** Returns how many tasks got their first mark: 0 or 1. */
  raise(task: string, token: Token, complete: boolean, holder: string | undefined): number {
    const values = [task, token, complete ? 1 : 0, holder ?? null, this.#clock.usedMs()] as const
    if (this.#update.run(...values).changes !== 0) return 0
    if (token < this.#floors.of(task)) return 0 // What is there, by a mark or by a floor, is higher.
    return Number(this.#insert.run(...values).changes)
  }

  /** Notes of those that have a mark that they were in use. */
  use(tasks: readonly string[], atMs: number): void {
    const usedMs = this.#clock.usedMs(atMs)
    for (const task of tasks) this.#use.run(task, usedMs)
  }

  /** Only of a frozen task without a write whose end is unknown or to come; else it stays as it is. */
  reset(task: string, to: Token): void {
    this.#reset.run(task, to, this.#clock.usedMs())
  }

  /** Returns how many marks it forgot. */
  retire({ tasks, beforeMs, floor }: Extract<Change, { kind: 'retired' }>): number {
    const idleBeforeMs = this.#clock.idleBeforeMs(beforeMs)
    let retired = 0
    for (const task of tasks) {
      const ofTask = this.#floors.of(task)
      const highest = ofTask < floor ? ofTask : floor
      retired += Number(this.#retire.run(task, highest, idleBeforeMs).changes)
    }
    return retired
  }

  isFrozen(task: string): boolean {
    return this.#isFrozen.get(task) !== undefined
  }

  /** Returns by how many the frozen tasks changed: -1, 0 or 1. */
  setFrozen(task: string, frozen: boolean): number {
    const changed = Number((frozen ? this.#freeze : this.#thaw).run(task).changes)
    return frozen ? changed : -changed
  }
}
