/** The journal as a plain list. */
import type { JournalEntry, ListedEntry } from '../../src/journal/entries.ts'
import type { JournalQuery, Page, PruneLimits } from '../../src/journal/queries.ts'
import type { Act, UnknownWrite } from '../../src/journal/records.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { page } from './store-memory-operations.ts'

export class MemoryJournal {
  #entries: ListedEntry[] = []

  add(entry: JournalEntry): void {
    const data = JSON.parse(
      JSON.stringify(entry.data, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    )
    this.#entries.push({ ...entry, data, seq: this.last + 1 })
  }

  act({ atMs, kind, task, token, by, reason, details }: Act): void {
    if (kind === 'resolve') return
    this.add({ atMs, kind: 'act', task, token, data: { act: kind, by, reason, ...details } })
  }

  resolved(change: Extract<Change, { kind: 'resolved' }>, { task, token }: UnknownWrite): void {
    const { atMs, id, resolution, by, note } = change
    this.add({ atMs, kind: 'resolved', task, token, data: { id, resolution, by, reason: note } })
  }

  get last(): number {
    return this.#entries.at(-1)?.seq ?? 0
  }

  list({ task, kind, order, limit, after }: JournalQuery): Page<ListedEntry> {
    const wanted = this.#entries.filter(
      (entry) => (task === undefined || entry.task === task) && (kind === undefined || entry.kind === kind),
    )
    if (order !== 'newest') return page(wanted, limit, after, () => true)
    const rows = wanted
      .filter(({ seq }) => after === 0 || seq < after)
      .slice(-limit)
      .reverse()
    return { rows, next: rows.length < limit ? undefined : rows.at(-1)?.seq }
  }

  /** Returns how many entries it forgot. */
  prune({ nowMs, maxAgeMs, maxRows }: PruneLimits): number {
    const newest = this.#entries.at(-1)?.seq ?? 0
    const before = this.#entries.length
    this.#entries = this.#entries.filter(
      ({ seq, atMs }) => seq === newest || (atMs > nowMs - maxAgeMs && seq > newest - maxRows),
    )
    return before - this.#entries.length
  }
}
