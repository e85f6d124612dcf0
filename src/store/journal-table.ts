/** The journal in SQLite. Invariant: entries are only added, at the end, and forgotten from the front. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { JournalEntry, ListedEntry } from '../journal/entries.ts'
import type { JournalQuery, Page } from '../journal/queries.ts'
import type { Act } from '../journal/records.ts'
import { JournalScan } from './journal-scan.ts'
import type { Change } from './mark-store.ts'

type Resolved = Extract<Change, { kind: 'resolved' }>

export class JournalTable {
  readonly #insert: StatementSync
  readonly #insertResolved: StatementSync
  readonly #last: StatementSync
  readonly #scans: Record<'oldest' | 'newest', Record<'all' | 'task', JournalScan>>

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT INTO journal (at_ms, kind, task, token, data) VALUES (?, ?, ?, ?, ?)')
    this.#insertResolved = db.prepare(
      "INSERT INTO journal (at_ms, kind, task, token, data) SELECT ?2, 'resolved', task, token, ?3 " +
        'FROM writes WHERE id = ?1',
    )
    this.#last = db.prepare('SELECT max(seq) AS seq FROM journal')
    const scans = (order: 'oldest' | 'newest') => ({
      all: new JournalScan(db, order, 'all'),
      task: new JournalScan(db, order, 'task'),
    })
    this.#scans = { oldest: scans('oldest'), newest: scans('newest') }
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

  list({ task, order = 'oldest', ...query }: JournalQuery): Page<ListedEntry> {
    return this.#scans[order][task === undefined ? 'all' : 'task'].page({ ...query, task: task ?? null })
  }
}

/** JSON has no exact form for large integers but a string. */
function toJson(data: JournalEntry['data']): string {
  return JSON.stringify(data, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}
