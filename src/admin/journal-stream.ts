/**
 * The journal as it grows, as server-sent events: `event` is the entry's kind, `id` its place.
 *
 * Invariants: a reader sees each entry that it asked for once, in order, with none left out behind the place where it
 * began; a stream holds one page of entries at most; a reader that takes nothing is cut, and a stream ends with the
 * sidecar. Streams read pages behind their own places, so that a slow one costs nobody else anything.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import type { JournalEntry, ListedEntry } from '../journal/entries.ts'
import type { MarkStore } from '../store/mark-store.ts'
import { unavailable } from './request-error.ts'
import { shownToken } from './shown.ts'
import { inTime } from './sources.ts'

const MAX_STREAMS = 32
const LOOK_MS = 500
const KEEP_ALIVE_MS = 15_000
const STALLED_MS = 30_000
const PAGE = 100

export interface StreamQuery {
  readonly task?: string | undefined
  readonly kind?: JournalEntry['kind'] | undefined
  /** `undefined`: what comes from now on. */
  readonly after: number | undefined
}

export class JournalStreams {
  readonly #clock: Clock
  /** With whether its reader may no longer have it. */
  readonly #streams = new Map<Stream, () => boolean>()
  #cancelLook: (() => void) | undefined
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#streams.size
  }

  /** Throws where there is no room; call it before anything is written. */
  requireRoom(): void {
    if (this.#closed) throw unavailable('the sidecar is stopping: ask the one that takes its place')
    if (this.#streams.size < MAX_STREAMS) return
    throw unavailable(
      `there are ${MAX_STREAMS} readers of the stream already: close one, or page through /v1/journal`,
    )
  }

  /** The head of the answer is written; the rest is this one's. A stream ends soon after its reader's right to it. */
  open(store: MarkStore, query: StreamQuery, response: ServerResponse, isRevoked: () => boolean): void {
    const stream = new Stream(store, this.#clock, query, response)
    this.#streams.set(stream, isRevoked)
    response.once('close', () => {
      stream.close()
      this.#streams.delete(stream)
    })
    stream.advance()
    this.#look()
  }

  /** Ends them all, and lets none begin. */
  close(): void {
    this.#closed = true
    this.#cancelLook?.()
    for (const stream of this.#streams.keys()) stream.end()
  }

  #look(): void {
    this.#cancelLook ??= this.#clock.after(LOOK_MS, () => {
      this.#cancelLook = undefined
      for (const [stream, isRevoked] of this.#streams) {
        if (isRevoked()) stream.end()
        else stream.advance()
      }
      if (this.#streams.size > 0) this.#look()
    })
  }
}

class Stream {
  readonly #store: MarkStore
  readonly #clock: Clock
  readonly #query: StreamQuery
  readonly #response: ServerResponse
  /** Every entry up to it that is wanted was written. */
  #place: number
  #busy = false
  #cancelKeepAlive: (() => void) | undefined

  constructor(store: MarkStore, clock: Clock, query: StreamQuery, response: ServerResponse) {
    this.#store = store
    this.#clock = clock
    this.#query = query
    this.#response = response
    const { lastEntry } = store.counts()
    // A store that was restored since has fewer entries than the reader has seen.
    this.#place = Math.min(query.after ?? lastEntry, lastEntry)
    this.#keepAlive()
  }

  /** Writes what there is behind its place, unless it is at that already. */
  advance(): void {
    if (this.#busy || this.#response.destroyed || this.#store.counts().lastEntry <= this.#place) return
    this.#busy = true
    this.#advance()
      .catch(() => this.#response.destroy()) // Its reader goes on where it was.
      .finally(() => {
        this.#busy = false
      })
  }

  end(): void {
    this.close()
    this.#response.end()
    // Who reads nothing doesn't see the end either.
    if (this.#response.writableNeedDrain) this.#response.destroy()
  }

  close(): void {
    this.#cancelKeepAlive?.()
  }

  async #advance(): Promise<void> {
    for (;;) {
      const { lastEntry } = this.#store.counts()
      const { task, kind } = this.#query
      const query = { task, kind, limit: PAGE, after: this.#place }
      const { rows, next } = await inTime(this.#clock, this.#store.journal(query))
      for (const entry of rows) {
        await this.#write(eventOf(entry))
        if (this.#response.writableEnded || this.#response.destroyed) return
      }
      const last = rows.at(-1)?.seq ?? this.#place
      this.#place = next ?? Math.max(last, lastEntry)
      if (next === undefined) return
    }
  }

  /** Waits where the reader is behind. */
  async #write(text: string): Promise<void> {
    if (this.#response.writableEnded || this.#response.destroyed || this.#response.write(text)) return
    const cancel = this.#clock.after(STALLED_MS, () => this.#response.destroy())
    const gone = new AbortController()
    try {
      await Promise.race([once(this.#response, 'drain', gone), once(this.#response, 'close', gone)])
    } finally {
      gone.abort()
      cancel()
    }
  }

  #keepAlive(): void {
    this.#cancelKeepAlive = this.#clock.after(KEEP_ALIVE_MS, () => {
      if (!this.#response.writableNeedDrain) this.#response.write(': still here\n\n')
      this.#keepAlive()
    })
  }
}

function eventOf(entry: ListedEntry): string {
  return `event: ${entry.kind}\nid: ${entry.seq}\ndata: ${JSON.stringify(shownToken(entry))}\n\n`
}
