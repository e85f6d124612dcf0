/** The store's tables on their own: exact values, one transaction a batch. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/store-file.ts'
import { RolledBackError, StoreTables } from '../../src/store/store-tables.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { markChange } from '../support/store-changes.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'
import { temporaryDirectory } from '../support/temporary.ts'

function open(directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  return { directory, db: store.db, tables: new StoreTables(store) }
}

test('batches of records leave what a simple model says, whatever their order', () => {
  const { directory, tables } = open()
  const disk = new MemoryDisk()
  const record = fc.record({
    kind: fc.constant('mark' as const),
    task: fc.constantFrom('a', 'b', 'c', 'A'),
    token: fc.oneof(fc.bigInt({ min: 1n, max: 6n }), fc.bigInt({ min: MAX_TOKEN - 2n, max: MAX_TOKEN })),
    complete: fc.boolean(),
    holder: fc.constantFrom(undefined, 'one', 'two'),
  })
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 8 }), (batch) => {
      const { commitSequence } = tables.counts
      tables.commit(batch)
      disk.commit(batch)
      for (const task of ['a', 'b', 'c', 'A']) expect(tables.load(task).mark).toEqual(disk.mark(task))
      expect(tables.counts).toEqual({ ...disk.counts, commitSequence: commitSequence + 1 })
    }),
    { numRuns: 60 },
  )
  const counts = tables.counts
  tables.close(true)
  const reopened = open(directory)
  for (const [task, mark] of disk.marks) expect(reopened.tables.load(task).mark).toMatchObject(mark)
  expect(reopened.tables.counts).toEqual(counts)
  reopened.tables.close(true)
})

test('a full disk rolls the whole batch back; what fits still goes in, and all does once there is room', () => {
  const { db, tables } = open()
  const record = (task: string, token: bigint) => markChange(task, token, true)
  tables.commit([record('k', 8n)])
  const counts = tables.counts
  db.exec('PRAGMA max_page_count = 1') // Rounded up to what there is.
  const batch = Array.from({ length: 500 }, (_, i) => record(`a-task-with-a-long-name-${i}`, 1n))
  expect(() => tables.commit([record('k', 9n), ...batch])).toThrow(RolledBackError)
  expect(db.isTransaction).toBe(false)
  expect(tables.load('k').mark).toMatchObject({ token: 8n })
  expect(tables.load('a-task-with-a-long-name-0').mark).toMatchObject({ recorded: false })
  expect(tables.counts).toEqual(counts)
  tables.commit([record('k', 9n)])
  expect(tables.load('k').mark).toMatchObject({ token: 9n })
  db.exec('PRAGMA max_page_count = 100000')
  tables.commit(batch)
  expect(tables.counts.tasks).toBe(501)
  tables.close(true)
})

test('a full disk at the close makes it an unclean stop, not a fault', () => {
  const { directory, db, tables } = open()
  tables.commit([markChange('k', 9n, true)])
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql.startsWith('UPDATE')) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    exec(sql)
  }
  tables.close(true)
  const after = openStore({ directory, create: 'never', lockWaitMs: 0, intentsComplete: false })
  expect(after.origin.unclean).toBe(true)
  expect(new StoreTables(after).load('k').mark).toMatchObject({ token: 9n })
  after.close()
})

test('the close gives the WAL’s room back before it records the clean stop', () => {
  const { directory, db, tables } = open()
  tables.commit([markChange('k', 9n, true)])
  const sizes: number[] = []
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql.startsWith('UPDATE')) sizes.push(fs.statSync(path.join(directory, 'marks.db-wal')).size)
    exec(sql)
  }
  tables.close(true)
  expect(sizes).toEqual([0])
})

test('a fault that is not a full disk is no roll-back: what is stored is unknown', () => {
  const { db, tables } = open()
  db.exec('PRAGMA query_only = 1')
  let fault: unknown
  try {
    tables.commit([markChange('k', 1n, true)])
  } catch (error) {
    fault = error
  }
  expect(fault).toMatchObject({ code: 'ERR_SQLITE_ERROR' })
  expect(fault).not.toBeInstanceOf(RolledBackError)
})
