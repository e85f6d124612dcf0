/** What ends a command that would go on for ever: a signal, which is its orderly end. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** Runs `work` with a signal that is aborted by the first of the process's; from the second on they end the process. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const abort = () => {
    forget()
    controller.abort()
  }
  const forget = () => {
    for (const signal of SIGNALS) process.off(signal, abort)
  }
  for (const signal of SIGNALS) process.on(signal, abort)
  try {
    return await work(controller.signal)
  } finally {
    forget()
  }
}

/** Waits, but no longer than until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}

/** A wait that can be cut short; a ring that nobody waits for cuts the next one. */
export class Alarm {
  #end: (() => void) | undefined
  #hasRung = false

  ring(): void {
    if (this.#end) this.#end()
    else this.#hasRung = true
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#end = undefined
        this.#hasRung = false
        resolve()
      }
      const timer = setTimeout(end, ms)
      this.#end = end
      if (this.#hasRung) end()
    })
  }
}
