/** A wake-up for any number of waiters: everybody waiting when it fires goes on, nobody else. */
import type { Clock } from '../clock.ts'

export class Signal {
  readonly #wakers = new Set<() => void>()

  fire(): void {
    const wakers = [...this.#wakers]
    this.#wakers.clear()
    for (const wake of wakers) wake()
  }

  /** Resolves when the signal fires, or after `ms` milliseconds. */
  wait(clock: Clock, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancel()
        this.#wakers.delete(wake)
        resolve()
      }
      const cancel = clock.after(ms, wake)
      this.#wakers.add(wake)
    })
  }
}

/** The promise's value, or `undefined` if it takes longer than `ms` milliseconds. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(undefined))
    promise.then(resolve, reject).finally(cancel)
  })
}
