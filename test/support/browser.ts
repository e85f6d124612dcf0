/**
 * A real Chromium, Debian's, without a window, and pages whose every complaint is kept: a script's error, a console
 * error, a violation of the content security policy. A page has what the test asks of it alone: no cache, no state.
 */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

export interface WatchedPage {
  readonly page: Page
  /** What went wrong in it, that `expected` doesn't excuse. */
  readonly complaints: (expected?: RegExp) => string[]
  /** The heap after a collection, and the nodes that are alive. */
  readonly memory: () => Promise<{ heapBytes: number; nodes: number }>
}

/** Called at the top of a test file. The browser goes with the file. */
export async function browser(): Promise<{
  open: (url: string, options?: BrowserContextOptions) => Promise<WatchedPage>
}> {
  const chrome: Browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGS })
  afterAll(() => chrome.close())
  return {
    open: async (url, options = {}) => {
      const context = await chrome.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      const page = await context.newPage()
      const complaints = watch(page)
      const session = await context.newCDPSession(page)
      await session.send('Performance.enable')
      await page.goto(url)
      return {
        page,
        complaints: (expected = /^$/) => complaints.filter((text) => !expected.test(text)),
        memory: async () => {
          await session.send('HeapProfiler.collectGarbage')
          const { metrics } = await session.send('Performance.getMetrics')
          const value = (name: string) => metrics.find((metric) => metric.name === name)?.value as number
          return { heapBytes: value('JSHeapUsedSize'), nodes: value('Nodes') }
        },
      }
    },
  }
}

function watch(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog of a script: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return complaints
}

/** Expects that nothing went wrong in the page: a violation of its content security policy is an error of the console. */
export function expectQuiet({ complaints }: WatchedPage, expected?: RegExp): void {
  expect(complaints(expected)).toEqual([])
}
