/**
 * The wall clock as retention may believe it, so that it errs towards keeping: a step ahead since the store was opened
 * would make the record forget too early, so it is left out; after a step back what is used counts as used at the time
 * that it would be without it.
 */
export class RetentionClock {
  readonly #wall: () => number
  readonly #monotonic: () => number
  readonly #startMs: number
  readonly #startedAt: number

  constructor(wall = Date.now, monotonic = () => performance.now()) {
    this.#wall = wall
    this.#monotonic = monotonic
    this.#startMs = wall()
    this.#startedAt = monotonic()
  }

  /** The earlier of what the wall clock says and what the time since the start makes it. */
  believe(wallMs: number): number {
    return Math.min(wallMs, this.#elapsedMs())
  }

  /** A time that the wall clock told as one at which something was used. */
  usedMs(atMs = this.#wall()): number {
    return Math.ceil(atMs + Math.max(0, this.#elapsedMs() - this.#wall()))
  }

  /** A time reckoned back from now by the wall clock, before which what was last used is idle. */
  idleBeforeMs(beforeMs: number): number {
    return Math.floor(beforeMs - Math.max(0, this.#wall() - this.#elapsedMs()))
  }

  /** What the time since the start makes it. */
  #elapsedMs(): number {
    return this.#startMs + (this.#monotonic() - this.#startedAt)
  }
}
