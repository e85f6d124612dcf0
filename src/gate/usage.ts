/**
 * Which marks are in use: a holder that has written with one token for weeks raises nothing, and its mark must not
 * pass for idle. Noted on record together, now and then, aside from the commits that writes wait for.
 *
 * Invariant: what could not be put on record is kept for the next time, so that a mark in use is never forgotten sooner.
 */
import type { Clock } from '../clock.ts'
import type { MarkStore } from '../store/mark-store.ts'

const NOTE_MS = 600_000
/** In one commit, so that no write waits for long behind it. */
const BATCH = 1000
/** Names that wait at a time; beyond them they are noted at once. */
const MAX_WAITING = 10_000

export class Usage {
  readonly #store: MarkStore
  readonly #clock: Clock
  #used = new Set<string>()
  #cancel: (() => void) | undefined
  #noted: Promise<void> = Promise.resolve()

  constructor(store: MarkStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** A write of the task was permitted. */
  used(task: string): void {
    this.#used.add(task)
    if (this.#used.size === MAX_WAITING) this.#noteNow()
    else this.#cancel ??= this.#clock.after(NOTE_MS, () => this.#noteNow())
  }

  /** Puts on record what was used by now. Rejects with a {@link StoreError} if a part of it could not be. */
  note(): Promise<void> {
    const noted = this.#noted.then(() => this.#note())
    this.#noted = noted.catch(() => {})
    return noted
  }

  /** Notes what is left, if it can. */
  async close(): Promise<void> {
    await this.note().catch(() => {})
    this.#cancel?.()
  }

  #noteNow(): void {
    this.note().catch(() => {
      // With the next one that is used, or when the store is asked to retire some.
    })
  }

  async #note(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    const tasks = [...this.#used]
    this.#used = new Set()
    for (let from = 0; from < tasks.length; from += BATCH) {
      const batch = tasks.slice(from, from + BATCH)
      try {
        await this.#store.commit([{ kind: 'used', tasks: batch, atMs: Date.now() }])
      } catch (error) {
        for (const task of tasks.slice(from)) this.#used.add(task)
        throw error
      }
    }
  }
}
