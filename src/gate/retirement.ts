/**
 * Retiring idle marks: those under a prefix become one floor, so that a store with a task a day does not grow for ever.
 *
 * Invariant: no mark is forgotten before a floor at or above it is durable, so a task's effective mark never goes down.
 */
import type { Author } from '../journal/records.ts'
import type { MarkStore } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import { act } from './act.ts'
import { ActError } from './act-error.ts'
import type { Gate } from './gate.ts'
import type { Usage } from './usage.ts'

/** Milliseconds. What was used is noted every ten minutes, and lost with a crash. */
const LEAST_IDLE_MS = 3_600_000
/** Marks looked at or forgotten in one go, so that no write waits for long behind it. */
const BATCH = 1000

export interface RetireRequest {
  /** Of task names; the empty one is every task. */
  readonly prefix: string
  /** Milliseconds for which nobody may have used a mark, at least an hour. */
  readonly idleMs: number
  /** At which tasks under the prefix start that have no mark of their own. */
  readonly floor: Token
}

export interface Retired {
  readonly prefix: string
  readonly floor: Token
  readonly retired: number
}

export class Retirement {
  readonly #gate: Gate
  readonly #store: MarkStore
  readonly #usage: Usage

  constructor(gate: Gate, store: MarkStore, usage: Usage) {
    this.#gate = gate
    this.#store = store
    this.#usage = usage
  }

  /**
   * Throws {@link ActError}, with nothing changed, if an idle mark is above the floor. Repeated, it goes on where it was
   * interrupted.
   */
  async retire(request: RetireRequest, author: Author): Promise<Retired> {
    const { prefix, idleMs, floor } = request
    if (!(idleMs >= LEAST_IDLE_MS)) throw new ActError('a mark is idle after an hour at the earliest')
    // A write that has been open for longer than that was noted at its beginning alone.
    for (const { task } of this.#gate.view.busy()) this.#usage.used(task)
    await this.#usage.note()
    const beforeMs = Date.now() - idleMs
    for await (const marks of this.#idle(prefix, beforeMs)) {
      const above = marks.find(({ token }) => token > floor)
      if (above) {
        throw new ActError(
          `the idle mark of ${above.task} is ${above.token}, above ${floor}: name a floor at or above every idle mark`,
        )
      }
    }
    await this.#store.commit([
      { kind: 'floor', prefix, floor },
      act('retire', undefined, undefined, author, { prefix, idleMs, floor }),
    ])
    // Those without a mark start higher by now.
    this.#gate.forget({ prefix })
    let retired = 0
    for await (const marks of this.#idle(prefix, beforeMs)) {
      const tasks = marks.filter(({ token }) => token <= floor).map(({ task }) => task)
      if (tasks.length === 0) continue
      await this.#store.commit([{ kind: 'retired', tasks, beforeMs, floor }])
      this.#gate.forget(tasks)
      retired += tasks.length
    }
    return { prefix, floor, retired }
  }

  async *#idle(prefix: string, beforeMs: number) {
    let after: string | undefined = ''
    while (after !== undefined) {
      const page: Awaited<ReturnType<MarkStore['idle']>> = await this.#store.idle({
        prefix,
        beforeMs,
        limit: BATCH,
        after,
      })
      if (page.rows.length > 0) yield page.rows
      after = page.next
    }
  }
}
