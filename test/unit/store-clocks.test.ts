/** A wall clock that is set wrong, and right again, makes the record forget nothing early. */
import { expect, test } from 'vitest'
import { RetentionClock } from '../../src/store/retention-clock.ts'
import { openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { markChange, TIMED_OUT, writeRecord } from '../support/store-changes.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const HOUR_MS = 3_600_000

/** A store in a new directory, or in that one, by a wall clock that is off so far from when it is opened. */
function openAt(offMs: () => number, directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  const wall = () => Date.now() + offMs()
  return { directory, wall, tables: new StoreTables(store, new RetentionClock(store.latestMs, wall)) }
}

test('a clock that was set back while an operation was done, and right again, forgets nothing early', () => {
  let offMs = 0
  const { tables, wall } = openAt(() => offMs)
  offMs = -48 * HOUR_MS
  const attempt = attemptRecord('1', 'op', { atMs: wall(), keepMs: 24 * HOUR_MS })
  const write = writeRecord('unknown')
  const resolved = { id: 'unknown', resolution: 'applied', by: 'ops', note: 'why', atMs: wall() } as const
  tables.commit([...begin(attempt), ...finish(attempt, ENDS.final)])
  tables.commit([...begin(attemptRecord('2', 'newest')), { kind: 'unknown', write, end: TIMED_OUT }])
  tables.commit([{ kind: 'resolved', ...resolved }])
  offMs = 0
  const after = (ms: number) => tables.prune({ nowMs: wall() + ms, maxAgeMs: 24 * HOUR_MS, maxRows: 9 })
  expect(after(0)).toMatchObject({ operations: 0 })
  expect(tables.operation('op')).toMatchObject({ state: 'done' })
  expect(tables.unknownWrite('unknown')).toMatchObject({ resolution: 'applied' })
  tables.close(true)
})

test('a start by a clock that is ahead forgets nothing early', () => {
  const first = openAt(() => 0)
  const atMs = Date.now()
  const attempt = attemptRecord('1', 'op', { atMs, keepMs: 24 * HOUR_MS })
  first.tables.commit([
    ...[...begin(attempt), ...finish(attempt, ENDS.final), ...begin(attemptRecord('2', 'newest', { atMs }))],
    markChange('used', 8n, true),
  ])
  first.tables.close(true)
  const { tables, wall } = openAt(() => 48 * HOUR_MS, first.directory)
  expect(tables.prune({ nowMs: wall(), maxAgeMs: 1, maxRows: 9 })).toMatchObject({ operations: 0 })
  expect(tables.operation('op')).toMatchObject({ state: 'done' })
  expect(tables.idle({ prefix: '', beforeMs: wall() - HOUR_MS, limit: 9, after: '' }).rows).toEqual([])
  tables.close(true)
})

test('an entry made while the clock was set back is no older than the one before it', () => {
  const { tables, wall } = openAt(() => 0)
  const nowMs = wall()
  const note = (atMs: number) => ({ atMs, kind: 'handover', task: 'k', token: 8n, data: {} }) as const
  const times = [nowMs - 3 * HOUR_MS, nowMs - HOUR_MS, nowMs - 48 * HOUR_MS, nowMs]
  tables.commit([{ kind: 'journal', entries: times.map(note) }])
  tables.prune({ nowMs, maxAgeMs: 2 * HOUR_MS, maxRows: 9 })
  expect(tables.journal({ limit: 9, after: 0 }).rows.map(({ atMs }) => atMs)).toEqual(times.slice(1))
  tables.close(true)
})
