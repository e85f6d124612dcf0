/** A store is made whole, opened proved, or not opened at all: with exit code 69 and what to do. */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { EXIT } from '../../src/errors.ts'
import { requireLocalFileSystem } from '../../src/store/durable-files.ts'
import { initStore, openStore } from '../../src/store/store-file.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const never = (directory: string) =>
  ({ directory, create: 'never', lockWaitMs: 0, intentsComplete: false }) as const
const ifMissing = (directory: string) =>
  ({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false }) as const

/** Expects a start to be refused with 69; returns what the person at the terminal reads. */
function refusal(work: () => unknown): string {
  let refused: unknown
  try {
    work()
  } catch (error) {
    refused = error
  }
  expect(refused).toMatchObject({ name: 'ExitError', exitCode: EXIT.unavailable })
  return (refused as Error).message
}

/** A store that was stopped cleanly, with `change` made to its file by somebody else. */
function changedStore(change: (db: DatabaseSync) => void): string {
  const directory = temporaryDirectory()
  initStore(directory, 0n, 0)
  const db = new DatabaseSync(path.join(directory, 'marks.db'))
  change(db)
  db.close()
  return directory
}

test('create never refuses a missing store and names init, and makes nothing', () => {
  const directory = path.join(temporaryDirectory(), 'data')
  expect(refusal(() => openStore(never(directory)))).toMatch(/no store in .*fencegate init/)
  expect(fs.existsSync(directory)).toBe(false)
  fs.mkdirSync(directory)
  expect(refusal(() => openStore(never(directory)))).toMatch(/no store in .*--floor N/)
  expect(fs.readdirSync(directory)).toEqual([])
})

test('create if-missing makes the directories above, for this user alone', () => {
  const directory = path.join(temporaryDirectory(), 'a', 'b')
  openStore(ifMissing(directory)).close()
  expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
  openStore(never(directory)).close()
})

test('init makes a store that a start takes as it is; with a floor it starts as after an unclean stop', () => {
  const directory = temporaryDirectory()
  initStore(directory, 2n ** 63n - 1n, 0)
  const store = openStore(never(directory))
  expect(store.floor).toBe(2n ** 63n - 1n)
  expect(store.origin).toMatchObject({ unclean: true, created: false })
  store.close()
  const plain = temporaryDirectory()
  initStore(plain, 0n, 0)
  const plainStore = openStore(never(plain))
  expect(plainStore.origin).toMatchObject({ unclean: false, created: false })
  plainStore.close()
})

test('an open store fsyncs each commit, is locked, and is checkpointed by nobody but the worker', () => {
  const store = openStore(ifMissing(temporaryDirectory()))
  const value = (name: string) => Object.values(store.db.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  const names = ['journal_mode', 'synchronous', 'locking_mode', 'wal_autocheckpoint']
  expect(names.map(value)).toEqual(['wal', 2, 'exclusive', 0])
  expect(['fullfsync', 'checkpoint_fullfsync'].map(value)).toEqual([1, 1])
  store.close()
})

test('init never replaces a store', () => {
  const directory = temporaryDirectory()
  initStore(directory, 7n, 0)
  expect(refusal(() => initStore(directory, 9n, 0))).toMatch(/already holds a store/)
  const store = openStore(never(directory))
  expect(store.floor).toBe(7n)
  expect(
    refusal(() => initStore(directory, 9n, 0)),
    'while it is in use',
  ).toMatch(/locked/)
  store.close()
})

test('a draft that a crash left behind is no store, and in nobody’s way', () => {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, 'marks.db.new'), 'half a sto')
  fs.writeFileSync(path.join(directory, 'marks.db.new-journal'), 'half a journal')
  expect(refusal(() => openStore(never(directory)))).toMatch(/no store in/)
  const store = openStore(ifMissing(directory))
  expect(store.origin.created).toBe(true)
  store.close()
  openStore(never(directory)).close()
})

test.each(['marks.db-wal', 'marks.db-journal'])('no store is made beside an orphaned %s', (name) => {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, name), 'the marks of a store whose main file is gone')
  for (const make of [() => initStore(directory, 7n, 0), () => openStore(ifMissing(directory))]) {
    expect(refusal(make)).toMatch(new RegExp(`${name}.*move both away.*--floor N`, 's'))
  }
  expect(fs.existsSync(path.join(directory, 'marks.db'))).toBe(false)
  expect(fs.readFileSync(path.join(directory, name), 'utf8')).toContain('the marks of')
})

test.each([
  ['an empty file', Buffer.alloc(0)],
  ['a text', Buffer.from('task,token\nk,9\n'.repeat(500))],
  ['a garbage header', Buffer.concat([Buffer.alloc(100, 0x5a), Buffer.alloc(8092)])],
  ['zeroes', Buffer.alloc(8192)],
])('%s is not a store, and is left as it is', (_, content) => {
  for (const options of [never, ifMissing]) {
    const directory = temporaryDirectory()
    const file = path.join(directory, 'marks.db')
    fs.writeFileSync(file, content)
    expect(refusal(() => openStore(options(directory)))).toMatch(/damaged or foreign.*--floor N/s)
    expect(fs.readFileSync(file).equals(content), 'it was changed').toBe(true)
  }
})

test('another program’s SQLite file is refused and left as it is', () => {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'marks.db')
  const db = new DatabaseSync(file)
  db.exec('CREATE TABLE marks (task, token, complete)')
  db.close()
  const before = fs.readFileSync(file)
  expect(refusal(() => openStore(ifMissing(directory)))).toMatch(/not a fencegate store/)
  expect(fs.readFileSync(file).equals(before), 'it was changed').toBe(true)
})

test('a store of a newer fencegate is refused and left as it is', () => {
  const directory = changedStore((db) => db.exec('PRAGMA user_version = 4'))
  const before = fs.readFileSync(path.join(directory, 'marks.db'))
  expect(refusal(() => openStore(never(directory)))).toMatch(/newer fencegate \(schema 4, .* knows 3\)/)
  expect(fs.readFileSync(path.join(directory, 'marks.db')).equals(before), 'it was changed').toBe(true)
})

test.each([
  ['a schema version that never was', (db: DatabaseSync) => db.exec('PRAGMA user_version = 0')],
  ['no meta row', (db: DatabaseSync) => db.exec('DELETE FROM meta')],
  ['no meta table', (db: DatabaseSync) => db.exec('DROP TABLE meta')],
  ['no marks table', (db: DatabaseSync) => db.exec('DROP TABLE marks')],
])('a store with %s is refused each time', (_, change) => {
  const directory = changedStore(change)
  for (let attempt = 0; attempt < 2; attempt++) {
    expect(refusal(() => openStore(never(directory)))).toMatch(/damaged or foreign.*--floor N/s)
  }
})

test('a directory that can’t be made or written is refused with its path and the cause', () => {
  const file = path.join(temporaryDirectory(), 'file')
  fs.writeFileSync(file, '')
  const below = path.join(file, 'data')
  expect(refusal(() => openStore(ifMissing(below)))).toContain(below)
  expect(refusal(() => openStore(ifMissing(below)))).toMatch(/can't be used: ENOTDIR/)
  expect(refusal(() => initStore(below, 7n, 0))).toMatch(/can't be used: ENOTDIR/)
})

test('a directory that is not on a known local file system is refused', () => {
  const on = (type: number) => () => requireLocalFileSystem('/data', () => ({ type }))
  expect(refusal(on(0x6969))).toMatch(/type 0x6969.*NFS/)
  for (const type of [0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x00c36400, -11317950])
    refusal(on(type))
  for (const type of [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x9123683e - 2 ** 32]) on(type)()
})

test.runIf(process.platform === 'linux')('/proc is no local file system', () => {
  expect(refusal(() => openStore(ifMissing('/proc')))).toMatch(/type 0x9fa0/)
})

test('a lock that another holds is told apart from a lock that can’t be taken', () => {
  const directory = temporaryDirectory()
  initStore(directory, 0n, 0)
  const holder = new DatabaseSync(path.join(directory, 'lock.db'))
  holder.exec('BEGIN EXCLUSIVE')
  expect(refusal(() => openStore(never(directory)))).toMatch(/locked by another process.*lockWait \(0 ms\)/)
  holder.close()
  fs.writeFileSync(path.join(directory, 'lock.db'), 'no lock '.repeat(100))
  const message = refusal(() => openStore(never(directory)))
  expect(message).not.toMatch(/another process/)
  expect(message).toMatch(/lock\.db/)
})

test('a refused start lets go of the lock', () => {
  const directory = changedStore((db) => db.exec('DELETE FROM meta'))
  refusal(() => openStore(never(directory)))
  fs.rmSync(path.join(directory, 'marks.db'))
  openStore(ifMissing(directory)).close()
})
