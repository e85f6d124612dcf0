/**
 * Puts the endings of writes on record, and says when that is durable. A full disk delays an ending, it
 * never loses one: the commit is repeated until it succeeds or the gate closes.
 */
import type { Clock } from '../clock.ts'
import type { Change, MarkStore } from '../store/mark-store.ts'

const RETRY_MS = 1000

export class Endings {
  readonly #store: MarkStore
  readonly #clock: Clock
  readonly #pending = new Set<Promise<void>>()
  #closing = false

  constructor(store: MarkStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Calls `durable` once the changes are; never, if the gate closes before that. */
  record(changes: readonly Change[], durable: () => void): void {
    const pending = this.#commit(changes, durable).finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
  }

  /** Resolves when nothing is being committed any more; what failed until then is not tried again. */
  async close(): Promise<void> {
    this.#closing = true
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  async #commit(changes: readonly Change[], durable: () => void): Promise<void> {
    for (;;) {
      try {
        await this.#store.commit(changes)
        break
      } catch {
        if (this.#closing) return
        await new Promise<void>((resolve) => this.#clock.after(RETRY_MS, resolve))
      }
    }
    durable()
  }
}
