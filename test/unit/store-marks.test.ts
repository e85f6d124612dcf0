/** The table of marks on its own: exact values, one transaction a batch. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MarkTable, RolledBackError } from '../../src/store/mark-table.ts'
import { openStore } from '../../src/store/store-file.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { MemoryDisk } from '../support/memory-mark-store.ts'
import { temporaryDirectory } from '../support/temporary.ts'

function open(directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0 })
  return { directory, db: store.db, table: new MarkTable(store) }
}

test('batches of records leave what a simple model says, whatever their order', () => {
  const { directory, table } = open()
  const disk = new MemoryDisk()
  const record = fc.record({
    id: fc.constant(0),
    task: fc.constantFrom('a', 'b', 'c', 'A'),
    token: fc.oneof(fc.bigInt({ min: 1n, max: 6n }), fc.bigInt({ min: MAX_TOKEN - 2n, max: MAX_TOKEN })),
    complete: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 8 }), (batch) => {
      const { commitSequence } = table.counts
      table.commit(batch)
      for (const { task, token, complete } of batch) disk.write(task, { token, complete })
      for (const task of ['a', 'b', 'c', 'A']) expect(table.load(task)).toEqual(disk.mark(task))
      expect(table.counts).toEqual({ tasks: disk.marks.size, commitSequence: commitSequence + 1 })
    }),
    { numRuns: 60 },
  )
  const counts = table.counts
  table.close(true)
  const reopened = open(directory)
  for (const [task, mark] of disk.marks) expect(reopened.table.load(task)).toMatchObject(mark)
  expect(reopened.table.counts).toEqual(counts)
  reopened.table.close(true)
})

test('a full disk rolls the whole batch back; what fits still goes in, and all does once there is room', () => {
  const { db, table } = open()
  const record = (task: string, token: bigint) => ({ id: 0, task, token, complete: true })
  table.commit([record('k', 8n)])
  const counts = table.counts
  db.exec('PRAGMA max_page_count = 1') // Rounded up to what there is.
  const batch = Array.from({ length: 500 }, (_, i) => record(`a-task-with-a-long-name-${i}`, 1n))
  expect(() => table.commit([record('k', 9n), ...batch])).toThrow(RolledBackError)
  expect(db.isTransaction).toBe(false)
  expect(table.load('k')).toMatchObject({ token: 8n })
  expect(table.load('a-task-with-a-long-name-0')).toMatchObject({ recorded: false })
  expect(table.counts).toEqual(counts)
  table.commit([record('k', 9n)])
  expect(table.load('k')).toMatchObject({ token: 9n })
  db.exec('PRAGMA max_page_count = 100000')
  table.commit(batch)
  expect(table.counts.tasks).toBe(501)
  table.close(true)
})

test('a full disk at the close makes it an unclean stop, not a fault', () => {
  const { directory, db, table } = open()
  table.commit([{ id: 0, task: 'k', token: 9n, complete: true }])
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql.startsWith('UPDATE')) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    exec(sql)
  }
  table.close(true)
  const after = openStore({ directory, create: 'never', lockWaitMs: 0 })
  expect(after.origin.unclean).toBe(true)
  expect(new MarkTable(after).load('k')).toMatchObject({ token: 9n })
  after.close()
})

test('the close gives the WAL’s room back before it records the clean stop', () => {
  const { directory, db, table } = open()
  table.commit([{ id: 0, task: 'k', token: 9n, complete: true }])
  const sizes: number[] = []
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql.startsWith('UPDATE')) sizes.push(fs.statSync(path.join(directory, 'marks.db-wal')).size)
    exec(sql)
  }
  table.close(true)
  expect(sizes).toEqual([0])
})

test('a fault that is not a full disk is no roll-back: what is stored is unknown', () => {
  const { db, table } = open()
  db.exec('PRAGMA query_only = 1')
  let fault: unknown
  try {
    table.commit([{ id: 0, task: 'k', token: 1n, complete: true }])
  } catch (error) {
    fault = error
  }
  expect(fault).toMatchObject({ code: 'ERR_SQLITE_ERROR' })
  expect(fault).not.toBeInstanceOf(RolledBackError)
})
