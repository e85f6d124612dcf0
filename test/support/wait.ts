/**
 * Waiting on conditions, never on time: every wait has a deadline, and its failure says what did not happen.
 */

/** Long enough for a busy machine; a wait that ends well ends much sooner. */
export const DEADLINE_MS = 10_000

/** The promise's value; rejects with `what` if it takes longer than `ms` milliseconds. */
export function within<T>(promise: Promise<T>, what: string, ms = DEADLINE_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Asks again and again until the probe says yes. For what has no event, such as another process's metrics. */
export async function until(
  probe: () => boolean | Promise<boolean>,
  what: string,
  ms = DEADLINE_MS,
): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await probe())) {
    if (performance.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Conditions over state that says when it changes. */
export class Changes {
  readonly #checks = new Set<() => void>()

  notify(): void {
    for (const check of [...this.#checks]) check()
  }

  /** Resolves as soon as `condition` holds. */
  async when(condition: () => boolean, what: string, ms = DEADLINE_MS): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const check = () => {
      if (condition()) resolve()
    }
    this.#checks.add(check)
    check()
    await within(promise, what, ms).finally(() => this.#checks.delete(check))
  }
}
