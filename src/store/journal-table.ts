/** The journal in SQLite. Invariant: entries are only added, at the end, and forgotten from the front. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { JournalEntry, ListedEntry } from '../journal/entries.ts'
import type { JournalQuery, Page } from '../journal/queries.ts'
import type { Act } from '../journal/records.ts'
import type { Token } from '../token.ts'
import type { Change } from './mark-store.ts'
import { pageOf, pageSize } from './pages.ts'

type Resolved = Extract<Change, { kind: 'resolved' }>

export class JournalTable {
  readonly #insert: StatementSync
  readonly #insertResolved: StatementSync
  readonly #last: StatementSync
  readonly #all: StatementSync
  readonly #ofTask: StatementSync

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT INTO journal (at_ms, kind, task, token, data) VALUES (?, ?, ?, ?, ?)')
    this.#insertResolved = db.prepare(
      "INSERT INTO journal (at_ms, kind, task, token, data) SELECT ?2, 'resolved', task, token, ?3 " +
        'FROM writes WHERE id = ?1',
    )
    this.#last = db.prepare('SELECT max(seq) AS seq FROM journal')
    this.#all = db.prepare('SELECT * FROM journal WHERE seq > ? ORDER BY seq LIMIT ?')
    this.#ofTask = db.prepare('SELECT * FROM journal WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?')
    for (const statement of [this.#all, this.#ofTask]) statement.setReadBigInts(true)
  }

  add({ atMs, kind, task, token, data }: JournalEntry): void {
    this.#insert.run(atMs, kind, task ?? null, token ?? null, toJson(data))
  }

  act({ atMs, kind, task, token, by, reason, details }: Act): void {
    // What it resolved, and as what, stands in an entry of its own.
    if (kind === 'resolve') return
    this.add({ atMs, kind: 'act', task, token, data: { act: kind, by, reason, ...details } })
  }

  /** `seq` of the newest entry; 0 before the first. */
  get last(): number {
    return (this.#last.get()?.seq as number | null) ?? 0
  }

  resolved({ id, resolution, by, note, atMs }: Resolved): void {
    this.#insertResolved.run(id, atMs, toJson({ id, resolution, by, reason: note }))
  }

  list({ task, limit, after }: JournalQuery): Page<ListedEntry> {
    const size = pageSize(limit)
    const rows = task === undefined ? this.#all.all(after, size) : this.#ofTask.all(task, after, size)
    return pageOf(rows.map(toEntry), size, () => true)
  }
}

/** JSON has no exact form for large integers but a string. */
function toJson(data: JournalEntry['data']): string {
  return JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

function toEntry(row: Record<string, unknown>): ListedEntry {
  return {
    seq: Number(row.seq),
    atMs: Number(row.at_ms),
    kind: row.kind as JournalEntry['kind'],
    task: (row.task as string | null) ?? undefined,
    token: (row.token as Token | null) ?? undefined,
    data: JSON.parse(row.data as string),
  }
}
