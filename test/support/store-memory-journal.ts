/** The journal as a plain list. */
import type { JournalEntry, ListedEntry } from '../../src/journal/entries.ts'
import type { JournalQuery, Page, PruneLimits } from '../../src/journal/queries.ts'
import type { Act, UnknownWrite } from '../../src/journal/records.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { page } from './store-memory-operations.ts'

export class MemoryJournal {
  #entries: ListedEntry[] = []

  add(entry: JournalEntry): void {
    const data = JSON.parse(JSON.stringify(entry.data))
    this.#entries.push({ ...entry, data, seq: (this.#entries.at(-1)?.seq ?? 0) + 1 })
  }

  act({ atMs, kind, task, token, by, reason }: Act): void {
    if (kind !== 'resolve') this.add({ atMs, kind: 'act', task, token, data: { act: kind, by, reason } })
  }

  resolved(change: Extract<Change, { kind: 'resolved' }>, { task, token }: UnknownWrite): void {
    const { atMs, id, resolution, by, note } = change
    this.add({ atMs, kind: 'resolved', task, token, data: { id, resolution, by, reason: note } })
  }

  list({ task, limit, after }: JournalQuery): Page<ListedEntry> {
    const ofTask = this.#entries.filter((entry) => task === undefined || entry.task === task)
    return page(ofTask, limit, after, () => true)
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
