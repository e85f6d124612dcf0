/**
 * The wall clock as retention may believe it: a step ahead since the store was opened would make the record forget too
 * early, so it is left out; a step back only keeps longer.
 */
export class RetentionClock {
  readonly #monotonic: () => number
  readonly #startMs: number
  readonly #startedAt: number

  constructor(wallMs: number, monotonic = () => performance.now()) {
    this.#startMs = wallMs
    this.#monotonic = monotonic
    this.#startedAt = monotonic()
  }

  /** The earlier of what the wall clock says and what the time since the start makes it. */
  believe(wallMs: number): number {
    return Math.min(wallMs, this.#startMs + (this.#monotonic() - this.#startedAt))
  }
}
