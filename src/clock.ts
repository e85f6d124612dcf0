/**
 * Time, as an argument: durations come from the monotonic clock alone, so that a stepped wall clock changes
 * no decision; tests pass a virtual one.
 */

export interface Clock {
  /** Milliseconds on a clock that never goes back. Its zero means nothing. */
  now(): number
  /** Runs `callback` once, `ms` milliseconds from now; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void
}

export const monotonicClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}
