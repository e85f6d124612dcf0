/** A backup becomes a store again: above its floor, after an unclean stop, never in the place of another. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/errors.ts'
import { keepCopy } from '../../src/store/migration.ts'
import { SCHEMA_VERSION } from '../../src/store/schema.ts'
import { initStore, openStore, restoreStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { markChange, TIMED_OUT, writeRecord } from '../support/store-changes.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { SCHEMA_2 } from '../support/store-schema-2.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const WHO = { by: 'ana', reason: 'the volume was lost' }
const never = (directory: string) =>
  ({ directory, create: 'never', lockWaitMs: 0, intentsComplete: true }) as const

function open(directory: string) {
  const store = openStore(never(directory))
  return { store, tables: new StoreTables(store) }
}

/** Expects it to be refused so; returns what the person at the terminal reads. */
function refusal(exitCode: number, work: () => unknown): string {
  let refused: unknown
  try {
    work()
  } catch (error) {
    refused = error
  }
  expect(refused).toMatchObject({ name: 'ExitError', exitCode })
  return (refused as Error).message
}

/** The file of a store with marks up to 9, a freeze, an open write, an unknown one, and an operation. */
let backup = ''

const scene = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-'))
afterAll(() => fs.rmSync(scene, { recursive: true, force: true }))

beforeAll(() => {
  const directory = path.join(scene, 'data')
  initStore(directory, 3n, 0)
  const { tables } = open(directory)
  const attempt = attemptRecord('of done', 'done')
  tables.commit([
    markChange('k', 9n, true, 'worker-1'),
    markChange('lower', 8n, true, 'worker-2'),
    { kind: 'frozen', task: 'cold', frozen: true },
    { kind: 'floor', prefix: 'day/', floor: 5n },
    { kind: 'floor', prefix: 'high/', floor: 500n },
    { kind: 'intent', write: writeRecord('open', { task: 'k', holds: true }) },
    { kind: 'unknown', write: writeRecord('unknown', { task: 'k' }), end: TIMED_OUT },
    ...begin(attempt),
    ...finish(attempt, ENDS.final),
  ])
  tables.close(true)
  backup = path.join(scene, 'backup.db')
  fs.copyFileSync(path.join(directory, 'marks.db'), backup)
})

/** A backup changed by somebody else. */
function changed(change: (db: DatabaseSync) => void): string {
  const file = path.join(temporaryDirectory(), 'changed.db')
  fs.copyFileSync(backup, file)
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = DELETE')
  change(db)
  db.close()
  return file
}

const restore = (directory: string, floor: bigint, file = backup) =>
  restoreStore(directory, { file, floor, ...WHO }, 0)

test('marks, floors and what has no mark are at the floor or above; the rest is as it was', () => {
  const directory = path.join(temporaryDirectory(), 'data')
  const before = fs.readFileSync(backup)
  expect(restore(directory, 40n)).toEqual({ tasks: 2, unresolved: 2 })
  expect(fs.readFileSync(backup).equals(before), 'the backup was changed').toBe(true)
  expect(fs.statSync(path.join(directory, 'marks.db')).mode & 0o777).toBe(0o600)
  const { store, tables } = open(directory)
  expect(store.origin).toMatchObject({ unclean: true, intentsWereComplete: false, created: false })
  expect(tables.counts).toEqual({ tasks: 2, frozen: 1, unresolved: 2, commitSequence: 2, lastEntry: 1 })
  const raised = { token: 40n, complete: false, recorded: true, holder: undefined }
  expect(tables.load('k').mark).toEqual(raised)
  expect(tables.load('lower').mark).toEqual(raised)
  const tokens = ['cold', 'day/1', 'high/1'].map((task) => tables.load(task).mark.token)
  expect(tokens).toEqual([40n, 40n, 500n])
  expect(tables.load('cold').frozen).toBe(true)
  expect(tables.load('k').held).toMatchObject([{ id: 'open' }])
  expect(tables.unknownWrite('open')).toMatchObject({ reason: 'restart' })
  expect(tables.unknownWrite('unknown')).toMatchObject({ reason: 'timeout' })
  expect(tables.operation('done')).toMatchObject({ state: 'done', answer: { status: 201 } })
  const data = { act: 'restore', ...WHO, file: backup, floor: '40' }
  expect(tables.journal({ limit: 9, after: 0 }).rows).toMatchObject([{ kind: 'act', task: undefined, data }])
  expect(tables.idle({ prefix: '', beforeMs: Date.now() - 60_000, limit: 9, after: '' }).rows).toEqual([])
  tables.close(true)
})

test('a mark at the floor is as it was', () => {
  const directory = temporaryDirectory()
  restore(directory, 9n)
  const { tables } = open(directory)
  expect(tables.load('k').mark).toEqual({ token: 9n, complete: true, recorded: true, holder: 'worker-1' })
  tables.close(true)
})

test('a floor below a mark in the backup is refused with the highest one', () => {
  const directory = temporaryDirectory()
  expect(refusal(EXIT.usage, () => restore(directory, 8n))).toMatch(/^--floor: 8 is below a mark .*k has 9/)
  expect(fs.readdirSync(directory)).toEqual(['lock.db'])
})

test('a store is never replaced, and one that is in use is locked', () => {
  const directory = temporaryDirectory()
  initStore(directory, 7n, 0)
  const { store, tables } = open(directory)
  expect(refusal(EXIT.unavailable, () => restore(directory, 40n))).toMatch(/locked by another process/)
  tables.close(true)
  expect(store.floor).toBe(7n)
  expect(refusal(EXIT.unavailable, () => restore(directory, 40n))).toMatch(
    /already holds a store.*move marks.db/,
  )
  fs.renameSync(path.join(directory, 'marks.db'), path.join(directory, 'moved.db'))
  fs.writeFileSync(path.join(directory, 'marks.db-wal'), 'its last marks')
  expect(refusal(EXIT.unavailable, () => restore(directory, 40n))).toMatch(/marks.db-wal belongs to a store/)
})

test.each([
  ['an empty file', Buffer.alloc(0), /not a fencegate store/],
  ['a text', Buffer.from('task,token\nk,9\n'.repeat(500)), /not a fencegate store/],
  ['zeroes', Buffer.alloc(8192), /not a fencegate store/],
])('%s is no backup', (_, content, why) => {
  const file = path.join(temporaryDirectory(), 'file')
  fs.writeFileSync(file, content)
  expect(refusal(EXIT.unavailable, () => restore(temporaryDirectory(), 40n, file))).toMatch(why)
})

test.each([
  [
    'another program’s file',
    (db: DatabaseSync) => db.exec('PRAGMA application_id = 7'),
    /not a fencegate store/,
  ],
  [
    'a newer store',
    (db: DatabaseSync) => db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`),
    /newer fencegate/,
  ],
  ['no version', (db: DatabaseSync) => db.exec('PRAGMA user_version = 0'), /no schema version 0/],
  ['a store without its meta row', (db: DatabaseSync) => db.exec('DELETE FROM meta'), /meta row is missing/],
  ['a store without its marks', (db: DatabaseSync) => db.exec('DROP TABLE marks'), /damaged.*no such table/],
])('%s is refused, and nothing is made', (_, change, why) => {
  const directory = temporaryDirectory()
  const file = changed(change)
  const before = fs.readFileSync(file)
  expect(refusal(EXIT.unavailable, () => restore(directory, 40n, file))).toMatch(why)
  expect(fs.readdirSync(directory)).toEqual(['lock.db'])
  expect(fs.readFileSync(file).equals(before), 'it was changed').toBe(true)
})

test.each([
  ['truncated', (file: string) => fs.truncateSync(file, fs.statSync(file).size - 4096)],
  [
    'overwritten in the middle',
    (file: string) => {
      const fd = fs.openSync(file, 'r+')
      fs.writeSync(fd, Buffer.alloc(4096, 0x5a), 0, 4096, 4 * 4096)
      fs.closeSync(fd)
    },
  ],
])('a backup that was %s is refused', (_, damage) => {
  const directory = temporaryDirectory()
  const file = changed(() => {})
  damage(file)
  expect(refusal(EXIT.unavailable, () => restore(directory, 40n, file))).toMatch(/damaged, or no backup/)
  expect(fs.readdirSync(directory)).toEqual(['lock.db'])
})

test('a directory, a file that isn’t there, and a store’s own file with its log are refused', () => {
  const directory = temporaryDirectory()
  const of = (file: string) => refusal(EXIT.unavailable, () => restore(directory, 40n, file))
  expect(of(temporaryDirectory())).toMatch(/it is not a file/)
  expect(of(path.join(directory, 'nothing'))).toMatch(/nothing can't be restored: ENOENT/)
  const file = changed(() => {})
  fs.writeFileSync(`${file}-wal`, 'a log')
  expect(of(file)).toMatch(/-wal lies beside it/)
})

test('a backup of an older version is migrated on the way', () => {
  const directory = temporaryDirectory()
  const file = path.join(temporaryDirectory(), 'old.db')
  const db = new DatabaseSync(file)
  db.exec(`BEGIN; ${SCHEMA_2}
    INSERT INTO meta VALUES (1, 1700000000000, 41, 1, 1, 7);
    INSERT INTO marks VALUES ('k', 9, 1, 'worker-1');
    COMMIT; PRAGMA journal_mode = WAL`)
  db.close()
  const before = fs.readFileSync(file)
  restore(directory, 40n, file)
  expect(fs.readFileSync(file).equals(before)).toBe(true)
  const { store, tables } = open(directory)
  expect(store.origin).toMatchObject({ unclean: true, intentsWereComplete: false })
  expect(tables.load('k').mark).toMatchObject({ token: 40n, complete: false })
  tables.close(true)
  expect(fs.readdirSync(directory).sort()).toEqual(['lock.db', 'marks.db'])
})

test('a draft that a killed restore left behind is in nobody’s way', () => {
  const directory = temporaryDirectory()
  for (const suffix of ['', '-journal', '-wal'])
    fs.writeFileSync(path.join(directory, `marks.db.new${suffix}`), 'half')
  expect(refusal(EXIT.unavailable, () => openStore(never(directory)))).toMatch(
    /no store in.*fencegate restore/,
  )
  restore(directory, 40n)
  expect(fs.readdirSync(directory).sort()).toEqual(['lock.db', 'marks.db'])
})

test('a backup that has the name of the draft is not removed for it', () => {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'marks.db.new')
  fs.copyFileSync(backup, file)
  const link = path.join(temporaryDirectory(), 'backup.db')
  fs.symlinkSync(file, link)
  for (const name of [file, link])
    expect(refusal(EXIT.unavailable, () => restore(directory, 40n, name))).toMatch(/another name/)
  expect(fs.readFileSync(file).equals(fs.readFileSync(backup))).toBe(true)
})

test('an older version refuses a newer store, and goes back by the copy that the newer one made', () => {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'marks.db')
  fs.copyFileSync(backup, file)
  const copy = `${file}.schema-${SCHEMA_VERSION}`
  // As the next version would: it copies the store, changes it, and goes on.
  keepCopy(file, SCHEMA_VERSION)
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}; UPDATE marks SET token = 39 WHERE task = 'k'`)
  db.close()
  const message = refusal(EXIT.unavailable, () => openStore(never(directory)))
  expect(message).toContain('newer fencegate')
  expect(message).toContain(`"fencegate restore ${copy} --floor N"`)
  expect(refusal(EXIT.unavailable, () => restore(directory, 40n, copy))).toMatch(/already holds a store/)
  fs.renameSync(file, path.join(directory, 'newer.db'))
  restore(directory, 40n, copy)
  const { store, tables } = open(directory)
  expect(store.origin.unclean).toBe(true)
  expect(tables.load('k').mark, 'the old token is stale').toMatchObject({ token: 40n })
  tables.close(true)
})
