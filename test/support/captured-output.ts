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
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        captured[stream] += text
        return true
      })
    }
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })
  return captured
}
