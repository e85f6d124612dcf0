/** What commands print within this process, anew for each test of the file that asks for it. */
import { afterEach, beforeEach, vi } from 'vitest'

export interface CapturedOutput {
  stdout: string
  stderr: string
}

export function captureOutput(): CapturedOutput {
  const captured = { stdout: '', stderr: '' }
  beforeEach(() => {
    for (const stream of ['stdout', 'stderr'] as const) {
      captured[stream] = ''
      vi.spyOn(process[stream], 'write').mockImplementation((text, ...rest) => {
        captured[stream] += text
        const written = rest.at(-1)
        if (typeof written === 'function') written()
        return true
      })
    }
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  return captured
}
