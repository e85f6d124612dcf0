/**
 * Tasks as they are listed, a page at a time, in the binary order of their names: those with a mark, those that are
 * frozen, and idle marks. Changes nothing.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { IdleQuery, IdleTask, ListedTask, Page, TasksQuery } from '../journal/queries.ts'
import type { Token } from '../token.ts'
import type { FloorTable } from './floor-table.ts'
import { IDLE } from './mark-table.ts'
import { LOOKED_AT, pageSize } from './pages.ts'
import type { RetentionClock } from './retention-clock.ts'

/** Behind every name: names are of ASCII. */
const LAST = '\u{10ffff}'

const MARKED =
  'SELECT task, token, complete, holder, used_at_ms, EXISTS (SELECT 1 FROM frozen f WHERE f.task = m.task)'
const IN_RANGE = 'task > ?1 AND task <= ?2 AND instr(task, ?3) > 0'
const IN_ORDER = 'ORDER BY task LIMIT ?4'
const WITHOUT_MARK = 'NOT EXISTS (SELECT 1 FROM marks m WHERE m.task = f.task)'

const ALL =
  `${MARKED} AS frozen FROM marks m WHERE ${IN_RANGE} UNION ALL ` +
  `SELECT task, NULL, 0, NULL, NULL, 1 FROM frozen f WHERE ${IN_RANGE} AND ${WITHOUT_MARK} ${IN_ORDER}`
const THAWED =
  'SELECT task, token, complete, holder, used_at_ms, 0 AS frozen FROM marks m ' +
  `WHERE ${IN_RANGE} AND NOT EXISTS (SELECT 1 FROM frozen f WHERE f.task = m.task) ${IN_ORDER}`
const FROZEN =
  'SELECT task, token, complete, holder, used_at_ms, 1 AS frozen FROM frozen LEFT JOIN marks USING (task) ' +
  `WHERE ${IN_RANGE} ${IN_ORDER}`

export class TaskLists {
  readonly #floors: FloorTable
  readonly #clock: RetentionClock
  readonly #all: StatementSync
  readonly #frozen: StatementSync
  readonly #thawed: StatementSync
  readonly #lastLooked: readonly StatementSync[]
  readonly #idle: StatementSync

  constructor(db: DatabaseSync, floors: FloorTable, clock: RetentionClock) {
    this.#floors = floors
    this.#clock = clock
    this.#all = db.prepare(ALL)
    this.#frozen = db.prepare(FROZEN)
    this.#thawed = db.prepare(THAWED)
    this.#lastLooked = ['marks', 'frozen'].map((table) =>
      db.prepare(`SELECT task FROM ${table} WHERE task > ? ORDER BY task LIMIT 1 OFFSET ${LOOKED_AT - 1}`),
    )
    this.#idle = db.prepare(
      `SELECT task, token, used_at_ms < ?2 AND ${IDLE} AS idle FROM marks WHERE task >= ?1 ORDER BY task LIMIT ?3`,
    )
    for (const statement of [this.#all, this.#frozen, this.#thawed, this.#idle])
      statement.setReadBigInts(true)
  }

  tasks({ search = '', frozen, limit, after }: TasksQuery): Page<ListedTask, string> {
    const size = pageSize(limit)
    const statement = frozen === undefined ? this.#all : frozen ? this.#frozen : this.#thawed
    // Where every row is wanted, no more than a page of them is looked at.
    const end = search === '' && frozen !== false ? undefined : this.#lookedTo(after)
    const rows = statement.all(after, end ?? LAST, search, size).map((row) => this.#toListedTask(row))
    return { rows, next: rows.length < size ? end : rows.at(-1)?.task }
  }

  idle({ prefix, beforeMs, limit, after }: IdleQuery): Page<IdleTask, string> {
    const size = pageSize(limit)
    // Names under a prefix stand together; behind a name comes the same with the lowest of characters.
    const from = after === '' ? prefix : `${after}\0`
    const looked = this.#idle
      .all(from, this.#clock.idleBeforeMs(beforeMs), size)
      .map(({ task, token, idle }) => ({ task: task as string, token: token as Token, idle: idle === 1n }))
      .filter(({ task }) => task.startsWith(prefix))
    return {
      rows: looked.filter(({ idle }) => idle).map(({ task, token }) => ({ task, token })),
      next: looked.length < size ? undefined : looked.at(-1)?.task,
    }
  }

  /** The last name that a page may look at; `undefined` if it may look at all that there are. */
  #lookedTo(after: string): string | undefined {
    const ends = this.#lastLooked.flatMap(
      (statement) => (statement.get(after)?.task as string | undefined) ?? [],
    )
    return ends.reduce<string | undefined>(
      (least, end) => (least === undefined || end < least ? end : least),
      undefined,
    )
  }

  #toListedTask(row: Record<string, unknown>): ListedTask {
    const task = row.task as string
    return {
      task,
      token: (row.token as Token | null) ?? this.#floors.of(task),
      complete: row.complete === 1n,
      recorded: row.token !== null,
      holder: (row.holder as string | null) ?? undefined,
      frozen: row.frozen === 1n,
      usedAtMs: row.used_at_ms === null ? undefined : Number(row.used_at_ms),
    }
  }
}
