/**
 * A process that holds a store for a test, so that the test can kill it: opens the one that its argument
 * names, then does what it is told.
 */
import { ExitError } from '../../src/errors.ts'
import { type MarkStore, StoreError } from '../../src/store/mark-store.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import type { StoreCall, StoreReply } from './store-messages.ts'

function say(reply: StoreReply): void {
  process.send?.(reply)
}

const sayWhy = (kind: 'refused' | 'fatal', error: unknown) => {
  if (!(error instanceof ExitError)) throw error
  say({ kind, exitCode: error.exitCode, message: error.message })
}

async function answer(store: MarkStore, { id, method, args }: StoreCall): Promise<void> {
  try {
    const value = await (store[method] as (...args: readonly unknown[]) => Promise<unknown>).apply(store, [
      ...args,
    ])
    say({ kind: 'result', id, counts: store.counts(), value })
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    say({ kind: 'result', id, counts: store.counts(), failure: error.message })
  }
  if (method === 'close') process.disconnect?.()
}

process.once('disconnect', () => process.exit()) // Never outlives the test.

try {
  const store = await openSqliteMarkStore(JSON.parse(process.argv[2] ?? ''), (error) =>
    sayWhy('fatal', error),
  )
  process.on('message', (call: StoreCall) => answer(store, call))
  say({ kind: 'open', origin: store.origin, counts: store.counts() })
} catch (error) {
  sayWhy('refused', error)
}
