/**
 * Time under a test's control: nothing moves unless told, and the same calls give the same order.
 */
import type { Clock } from '../../src/clock.ts'

interface Timer {
  readonly dueMs: number
  readonly callback: () => void
}

/** Lets everything run that waits for nothing but its turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export class VirtualClock implements Clock {
  #nowMs: number
  /** By due time, then by age. */
  readonly #timers: Timer[] = []

  constructor(startMs = 0) {
    this.#nowMs = startMs
  }

  now(): number {
    return this.#nowMs
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, ms), callback }
    const later = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs)
    this.#timers.splice(later === -1 ? this.#timers.length : later, 0, timer)
    return () => {
      const index = this.#timers.indexOf(timer)
      if (index !== -1) this.#timers.splice(index, 1)
    }
  }

  /** Timers that have neither run nor been cancelled. */
  get pending(): number {
    return this.#timers.length
  }

  /** Time passes as in an idle event loop: each timer runs at its time, and what it wakes runs before the next. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await settled()
    for (let timer = this.#takeDue(endMs); timer; timer = this.#takeDue(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs)
      timer.callback()
      await settled()
    }
    this.#nowMs = endMs
  }

  /** The process is stopped and continued: all that fell due meanwhile runs late, in order, in one go. */
  pause(ms: number): void {
    this.#nowMs += ms
    const endMs = this.#nowMs
    for (let timer = this.#takeDue(endMs); timer; timer = this.#takeDue(endMs)) timer.callback()
  }

  #takeDue(endMs: number): Timer | undefined {
    const [first] = this.#timers
    return first && first.dueMs <= endMs ? this.#timers.shift() : undefined
  }
}
