/** Records in SQLite: every change against a simple model, one transaction a batch, acts as they are kept. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Act } from '../../src/journal/records.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { openStore } from '../../src/store/store-file.ts'
import { RolledBackError, StoreTables } from '../../src/store/store-tables.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { markChange, TIMED_OUT, writeRecord } from '../support/store-changes.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'
import { temporaryDirectory } from '../support/temporary.ts'

function open(directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  return { directory, db: store.db, tables: new StoreTables(store) }
}

const TASKS = ['a', 'b', 'A']
const IDS = ['1', '2', '3', '4', '5']

const act: Act = { kind: 'freeze', task: 'k', token: undefined, by: 'ops', reason: 'why', atMs: 4_000 }

const id = fc.constantFrom(...IDS)
const task = fc.constantFrom(...TASKS)
const token = fc.oneof(fc.bigInt({ min: 1n, max: 6n }), fc.bigInt({ min: MAX_TOKEN - 2n, max: MAX_TOKEN }))
const write = fc
  .record({ id, task, token, holds: fc.boolean(), operation: fc.constantFrom(undefined, 'op') })
  .map(({ id, ...fields }) => writeRecord(id, fields))
const end = fc.record({
  reason: fc.constantFrom('timeout' as const, 'status' as const),
  bytesSent: fc.nat(9),
  endedAtMs: fc.nat(9),
})
const kind = <K extends Change['kind']>(kind: K) => fc.constant(kind)
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: kind('mark'),
    task,
    token,
    complete: fc.boolean(),
    holder: fc.constantFrom(undefined, 'x'),
  }),
  fc.record({ kind: kind('intent'), write }),
  fc.record({ kind: kind('ended'), id }),
  fc.record({ kind: kind('unknown'), write, end }),
  fc.record({
    kind: kind('resolved'),
    id,
    resolution: fc.constantFrom('applied' as const, 'not-applied' as const),
    by: fc.constant('ops'),
    note: fc.constant('why'),
    atMs: fc.nat(9),
  }),
  fc.record({ kind: kind('frozen'), task, frozen: fc.boolean() }),
  fc.record({ kind: kind('act'), act: fc.constant(act) }),
)

/** All that a store says. */
function told(store: Pick<StoreTables, 'load' | 'unresolved' | 'unknownWrite' | 'counts'>) {
  return {
    tasks: TASKS.map((name) => store.load(name)),
    unresolved: store.unresolved(99),
    writes: IDS.map((name) => store.unknownWrite(name)),
    counts: store.counts,
  }
}

const asTables = (disk: MemoryDisk) => ({
  load: (name: string) => disk.task(name),
  unresolved: () => disk.unresolved,
  unknownWrite: (name: string) => disk.unknownWrite(name),
  counts: disk.counts,
})

test('batches of changes leave what a simple model says, now and after a restart', () => {
  const { directory, tables } = open()
  const disk = new MemoryDisk()
  disk.open({}, false)
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 10 }), (batch) => {
      tables.commit(batch)
      disk.commit(batch)
      expect(told(tables)).toEqual(told(asTables(disk)))
    }),
    { numRuns: 100, endOnFailure: true }, // What came before is part of the case.
  )
  tables.commit([{ kind: 'intent', write: writeRecord('open', { task: 'a', holds: true }) }])
  disk.commit([{ kind: 'intent', write: writeRecord('open', { task: 'a', holds: true }) }])
  tables.close(false)
  const reopened = open(directory).tables
  disk.open({}, false)
  const timeless = (all: ReturnType<typeof told>) => {
    return JSON.parse(
      JSON.stringify(all, (key, value) =>
        key === 'endedAtMs' && value > 1_000 ? 'the start' : typeof value === 'bigint' ? `${value}n` : value,
      ),
    )
  }
  expect(timeless(told(reopened))).toEqual(timeless(told(asTables(disk))))
  expect(reopened.unknownWrite('open')).toMatchObject({ reason: 'restart' })
  reopened.close(true)
})

test('a full disk rolls changes of every kind back, and their counts', () => {
  const { db, tables } = open()
  tables.commit([
    { kind: 'unknown', write: writeRecord('before'), end: TIMED_OUT },
    { kind: 'intent', write: writeRecord('open') },
  ])
  const before = told(tables)
  db.exec('PRAGMA max_page_count = 1') // Rounded up to what there is.
  const batch: Change[] = [
    markChange('a', 9n, true),
    { kind: 'frozen', task: 'a', frozen: true },
    { kind: 'resolved', id: 'before', resolution: 'applied', by: 'ops', note: 'why', atMs: 1 },
    { kind: 'ended', id: 'open' },
    { kind: 'act', act: { ...act, reason: 'x'.repeat(100_000) } },
  ]
  expect(() => tables.commit(batch)).toThrow(RolledBackError)
  expect(told(tables)).toEqual(before)
  expect(db.prepare('SELECT count(*) AS n FROM journal').get()).toEqual({ n: 0 })
  expect(db.prepare("SELECT count(*) AS n FROM writes WHERE id = 'open'").get()).toEqual({ n: 1 })
  db.exec('PRAGMA max_page_count = 100000')
  tables.commit(batch)
  expect(tables.counts).toMatchObject({ tasks: 1, frozen: 1, unresolved: 0 })
  tables.close(true)
})

test('a disk that is found full only by the COMMIT leaves nothing of the batch', () => {
  const { db, tables } = open()
  const before = told(tables)
  const exec = db.exec.bind(db)
  let full = true
  db.exec = (sql) => {
    if (sql === 'COMMIT' && full) {
      full = false
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    }
    exec(sql)
  }
  expect(() => tables.commit([markChange('a', 9n, true)])).toThrow(RolledBackError)
  expect(db.isTransaction).toBe(false)
  expect(told(tables)).toEqual(before)
  tables.close(true)
})

test('acts are kept in order, with who, when and why', () => {
  const { directory, tables } = open()
  const raise: Act = { ...act, kind: 'raise', token: MAX_TOKEN, by: 'other', atMs: 5_000 }
  const reset: Act = { ...act, kind: 'reset', task: undefined, details: { from: 9n } }
  tables.commit([act, raise, reset].map((act) => ({ kind: 'act', act })))
  tables.close(false)
  const { tables: reopened } = open(directory)
  const kept = ({ atMs, kind, task, token, by, reason, details }: Act) => ({
    ...{ atMs, kind: 'act', task, token },
    data: { act: kind, by, reason, ...details },
  })
  const expected = [
    kept(act),
    kept(raise),
    { ...kept(reset), data: { act: 'reset', by: 'ops', reason: 'why', from: '9' } },
  ]
  expect(reopened.journal({ limit: 9, after: 0 }).rows).toMatchObject(expected)
  reopened.close(true)
})
