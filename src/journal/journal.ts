/**
 * Writes the journal: gathers what happens and puts it on record together, aside from the commits that requests wait
 * for; forgets what is past its age or number.
 *
 * Invariant: nothing waits for the journal. What there is no room for, in memory or on the disk, is dropped and counted,
 * and the count goes on record when there is room again.
 */
import type { Clock } from '../clock.ts'
import type { JournalEntry } from './entries.ts'
import type { Pruned, PruneLimits } from './queries.ts'

/** How long an entry may wait for others. */
const GATHER_MS = 500
/** Entries that wait at a time; what comes beyond them in one go is dropped. */
const MAX_WAITING = 1000
const PRUNE_MS = 60_000
/** From one part of what is to be forgotten to the next. */
const PRUNE_ON_MS = 100

export interface JournalParts {
  readonly append: (entries: readonly JournalEntry[]) => Promise<void>
  readonly prune: (limits: PruneLimits) => Promise<Pruned>
  readonly limits: { readonly maxAgeMs: number; readonly maxRows: number }
  readonly clock: Clock
  /** Told of each entry that is dropped. */
  readonly dropped: () => void
}

export class Journal {
  readonly #parts: JournalParts
  #waiting: JournalEntry[] = []
  #dropped = 0
  #cancelWrite: (() => void) | undefined
  #cancelPrune: (() => void) | undefined
  #busy: Promise<void> = Promise.resolve()

  constructor(parts: JournalParts) {
    this.#parts = parts
    this.#pruneIn(PRUNE_ON_MS)
  }

  note(entry: Omit<JournalEntry, 'atMs'>): void {
    if (this.#waiting.length >= MAX_WAITING) return this.#drop(1)
    this.#waiting.push({ ...entry, atMs: Date.now() })
    this.#cancelWrite ??= this.#parts.clock.after(GATHER_MS, () => this.#write())
  }

  /** Writes what waits; resolves when that, and what is being written or forgotten, is over. */
  async close(): Promise<void> {
    this.#cancelPrune?.()
    this.#write()
    await this.#busy
    this.#cancelPrune?.()
  }

  #write(): void {
    this.#cancelWrite?.()
    this.#cancelWrite = undefined
    const entries = this.#waiting
    this.#waiting = []
    if (entries.length === 0) return
    const lost = this.#dropped
    if (lost > 0) entries.push({ ...DROPPED, atMs: Date.now(), data: { count: lost } })
    const written = this.#parts.append(entries).then(
      () => {
        this.#dropped -= lost
      },
      () => this.#drop(entries.length - (lost > 0 ? 1 : 0)),
    )
    this.#busy = Promise.all([this.#busy, written]).then(() => {})
  }

  #drop(count: number): void {
    this.#dropped += count
    for (let i = 0; i < count; i++) this.#parts.dropped()
  }

  #pruneIn(ms: number): void {
    this.#cancelPrune = this.#parts.clock.after(ms, () => {
      const { prune, limits } = this.#parts
      const pruned = prune({ ...limits, nowMs: Date.now() }).then(
        ({ more }) => this.#pruneIn(more ? PRUNE_ON_MS : PRUNE_MS),
        () => this.#pruneIn(PRUNE_MS),
      )
      this.#busy = Promise.all([this.#busy, pruned]).then(() => {})
    })
  }
}

const DROPPED = { kind: 'dropped', task: undefined, token: undefined } as const
