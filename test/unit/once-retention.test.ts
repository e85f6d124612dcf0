/** What becomes of a key that comes again after `once.retention`: nobody remembers it. */
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { temporaryDirectory } from '../support/temporary.ts'

test('a key that comes again once its operation is forgotten is a new operation', () => {
  const store = openStore({
    directory: temporaryDirectory(),
    create: 'if-missing',
    lockWaitMs: 0,
    intentsComplete: false,
  })
  const tables = new StoreTables(store)
  onTestFinished(() => tables.close(true))
  const [first, repeat, last] = [attemptRecord('1', 'a'), attemptRecord('2', 'a'), attemptRecord('3', 'b')]
  // The newest operation is kept for its number's sake, so there is one more.
  tables.commit([...begin(first), ...finish(first, ENDS.final), ...begin(last), ...finish(last, ENDS.final)])
  const keptUntilMs = first.atMs + first.keepMs
  const prune = (nowMs: number) => tables.prune({ nowMs, maxAgeMs: 1e9, maxRows: 1e6 })
  prune(keptUntilMs - 1)
  expect(tables.operation('a')).toMatchObject({ state: 'done' })
  prune(keptUntilMs + 2_000)
  expect(tables.operation('a')).toBeUndefined()
  tables.commit(begin(repeat))
  expect(tables.operation('a')).toMatchObject({ state: 'open', everUnknown: false })
})
