/**
 * What may end the demo before its end: a signal, a reader of its output that left, the time limit. Each
 * only rejects a promise; the demo then cleans up as it does after any fault.
 */
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export class Interruption extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface InterruptionWatch {
  /** Rejects with the first interruption. */
  readonly first: Promise<never>
  /** The first one; a signal may come just after the end of a child that got the same one. */
  readonly received: () => Interruption | undefined
  readonly end: () => void
}

export function watchForInterruption(timeLimitMs: number): InterruptionWatch {
  const { promise, reject } = Promise.withResolvers<never>()
  // Nobody may be waiting any more.
  promise.catch(() => {})
  let received: Interruption | undefined
  const interrupt = (message: string, exitCode: number) => {
    received ??= new Interruption(message, exitCode)
    reject(received)
  }
  const onSignal = (name: NodeJS.Signals) => interrupt(`ended by ${name}`, 128 + constants.signals[name])
  const onOutputError = (error: Error) => interrupt(`its output can't be written: ${error.message}`, 1)
  const limit = setTimeout(() => interrupt(`it took more than ${timeLimitMs / 1000} s`, 1), timeLimitMs)
  for (const name of SIGNALS) process.on(name, onSignal)
  // Stays to the end of the process: what is printed after the clean-up may meet the same closed pipe.
  process.stdout.on('error', onOutputError)
  return {
    first: promise,
    received: () => received,
    end: () => {
      clearTimeout(limit)
      for (const name of SIGNALS) process.off(name, onSignal)
    },
  }
}
