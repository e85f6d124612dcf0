/** Runs promtool, which comes with Debian's package `prometheus`. */
import { execFile } from 'node:child_process'

export interface PromtoolResult {
  readonly code: number
  /** Both streams. */
  readonly output: string
}

export function promtool(...args: readonly string[]): Promise<PromtoolResult> {
  return new Promise((resolve, reject) => {
    execFile('promtool', args, { timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error ? error.code : 0
      if (typeof code === 'number') resolve({ code, output: stdout + stderr })
      else reject(error)
    })
  })
}
