/**
 * The wall clock as retention may believe it, so that it errs towards keeping: a step ahead since the latest time on record
 * would make the record forget too early, so it is left out, and with it the time in which no process had the store open,
 * which can't be told from one; after a step back what is used counts as used at the time that it would be without it.
 */
export class RetentionClock {
  readonly #wall: () => number
  readonly #monotonic: () => number
  readonly #latestMs: number
  readonly #startMs: number
  readonly #startedAt: number

  /** @param latestMs the latest time on record when the store was opened. */
  constructor(latestMs = Infinity, wall = Date.now, monotonic = () => performance.now()) {
    this.#wall = wall
    this.#monotonic = monotonic
    this.#startMs = wall()
    this.#latestMs = Math.min(this.#startMs, latestMs)
    this.#startedAt = monotonic()
  }

  /** The earlier of what the wall clock says and what the time since the latest on record makes it. */
  believe(wallMs: number): number {
    return Math.min(wallMs, this.#elapsedMs(this.#latestMs))
  }

  /** A time that the wall clock told as one at which something was used. */
  usedMs(atMs = this.#wall()): number {
    const backMs = this.#elapsedMs(this.#startMs) - this.#wall()
    return Math.ceil(atMs) + Math.max(0, Math.floor(backMs)) // The wall clock tells no parts of a millisecond.
  }

  /** A time reckoned back from now by the wall clock, before which what was last used is idle. */
  idleBeforeMs(beforeMs: number): number {
    return Math.floor(beforeMs - Math.max(0, this.#wall() - this.#elapsedMs(this.#latestMs)))
  }

  /** What the time since the start makes it, if it was `fromMs` then. */
  #elapsedMs(fromMs: number): number {
    return fromMs + (this.#monotonic() - this.#startedAt)
  }
}
