/** A way through the journal, a page at a time: from its beginning or from its end, all of it or one task's entries. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { JournalEntry, ListedEntry } from '../journal/entries.ts'
import type { JournalQuery, Page } from '../journal/queries.ts'
import type { Token } from '../token.ts'
import { pageSize } from './pages.ts'

/** Entries that a page looks at, at most, for those of one kind. */
const LOOKED_AT = 1_000

type PageQuery = Omit<JournalQuery, 'task'> & { readonly task: string | null }

export class JournalScan {
  readonly #order: 'oldest' | 'newest'
  readonly #entries: StatementSync
  readonly #lastLooked: StatementSync

  constructor(db: DatabaseSync, order: 'oldest' | 'newest', of: 'all' | 'task') {
    this.#order = order
    const [beyond, upTo, direction] = order === 'newest' ? ['<', '>=', 'DESC'] : ['>', '<=', 'ASC']
    const from = `FROM journal WHERE ${of === 'task' ? 'task = ?1' : '?1 IS NULL'} AND seq ${beyond} ?2`
    this.#entries = db.prepare(
      `SELECT * ${from} AND seq ${upTo} ?3 AND kind = coalesce(?4, kind) ORDER BY seq ${direction} LIMIT ?5`,
    )
    this.#entries.setReadBigInts(true)
    this.#lastLooked = db.prepare(
      `SELECT seq ${from} ORDER BY seq ${direction} LIMIT 1 OFFSET ${LOOKED_AT - 1}`,
    )
  }

  page({ task, kind, limit, after }: PageQuery): Page<ListedEntry> {
    const size = pageSize(limit)
    const newest = this.#order === 'newest'
    const from = newest && after === 0 ? Number.MAX_SAFE_INTEGER : after
    // Where every entry is wanted, no more than a page of them is looked at.
    const end = kind && (this.#lastLooked.get(task, from)?.seq as number | undefined)
    const to = end ?? (newest ? 0 : Number.MAX_SAFE_INTEGER)
    const rows = this.#entries.all(task, from, to, kind ?? null, size).map(toEntry)
    return { rows, next: rows.length < size ? end : rows.at(-1)?.seq }
  }
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
