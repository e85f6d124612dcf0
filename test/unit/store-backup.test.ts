/** A backup is the store as of one commit, whole or not there, and the store goes on whatever becomes of it. */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { Backup, type BackupSource } from '../../src/store/backup.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import { openStore, restoreStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { markChange, record } from '../support/store-changes.ts'
import { openInProcess } from '../support/store-process.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const options = (directory = temporaryDirectory()) =>
  ({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false }) as const

const open = (directory?: string) =>
  openSqliteMarkStore(options(directory), (error) => {
    throw error
  })

const TASKS = Array.from({ length: 10_000 }, (_, i) => `a-task-with-a-long-name/${i}`)

/** The sum of all tokens, and the last commit, in a copy. */
function sumOf(file: string): { sum: number; commitSequence: number } {
  const db = new DatabaseSync(file, { readOnly: true })
  const query = 'SELECT sum(token) AS sum, (SELECT commit_sequence FROM meta) AS commitSequence FROM marks'
  const row = db.prepare(query).get()
  db.close()
  return { sum: row?.sum as number, commitSequence: row?.commitSequence as number }
}

test('a backup under load is the store as of one commit, and commits go on meanwhile', async () => {
  const store = await open()
  await store.commit(TASKS.map((task) => markChange(task, 1n, true)))
  const file = path.join(temporaryDirectory(), 'backup.db')
  let over = false
  let token = 1n
  let during = 0
  // Each commit adds 1 to each of some tasks all over the file, so that the sum tells which ones are in the copy.
  const chosen = TASKS.filter((_, i) => i % 500 === 0)
  const load = async () => {
    while (!over) {
      token++
      await store.commit(chosen.map((task) => markChange(task, token, true)))
      during++
    }
  }
  const [report] = await Promise.all([
    store.backup(file).finally(() => {
      over = true
    }),
    load(),
  ])
  expect(during).toBeGreaterThan(0)
  expect(fs.readdirSync(path.dirname(file))).toEqual(['backup.db'])
  const copy = sumOf(file)
  expect(report).toEqual({ bytes: fs.statSync(file).size, commitSequence: copy.commitSequence })
  expect(copy.sum).toBe(TASKS.length + chosen.length * (copy.commitSequence - 1))
  expect(copy.commitSequence).toBeLessThanOrEqual(store.counts().commitSequence)
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)

  const directory = temporaryDirectory()
  const restore = { file, floor: token, by: 'ops', reason: 'why' }
  expect(restoreStore(directory, restore, 0)).toEqual({ tasks: TASKS.length, unresolved: 0 })
  const restored = openStore({ ...options(directory), create: 'never' })
  expect(new StoreTables(restored).load(TASKS[7] as string).mark).toMatchObject({ token, complete: false })
  restored.close()
  await store.close(true)
})

test('one backup at a time; what a killed process left behind is in nobody’s way', async () => {
  const directory = temporaryDirectory()
  const store = await open(directory)
  await store.commit(TASKS.slice(0, 2_000).map((task) => markChange(task, 1n, true)))
  const file = path.join(temporaryDirectory(), 'backup.db')
  const { dev, ino } = fs.statSync(path.join(directory, 'marks.db'))
  fs.writeFileSync(`${file}.${dev.toString(36)}-${ino.toString(36)}.partial`, 'half a copy')
  const [first, second] = await Promise.allSettled([store.backup(file), store.backup(`${file}.2`)])
  expect(first.status).toBe('fulfilled')
  expect(second).toMatchObject({
    reason: { name: 'StoreError', message: expect.stringContaining(`${file} is being`) },
  })
  expect(fs.readdirSync(path.dirname(file))).toEqual(['backup.db'])
  expect(await store.backup(`${file}.2`)).toMatchObject({ commitSequence: 1 })
  await store.close(true)
})

test('a close ends a backup, with nothing left of it', async () => {
  const directory = temporaryDirectory()
  const store = await open(directory)
  await store.commit(TASKS.map((task) => markChange(task, 1n, true)))
  const file = path.join(temporaryDirectory(), 'backup.db')
  const backup = store.backup(file)
  const [ended] = await Promise.allSettled([backup, store.close(true)])
  expect(ended).toMatchObject({ reason: { message: 'no backup was made: the store is being closed' } })
  expect(fs.readdirSync(path.dirname(file))).toEqual([])
  const reopened = await open(directory)
  expect(reopened.origin.unclean).toBe(false)
  await reopened.close(true)
})

test('a place where no backup can be is refused with what to do, and nothing is left', async () => {
  const directory = temporaryDirectory()
  const store = await open(directory)
  const into = temporaryDirectory()
  const why = async (file: string) => {
    const failed = await store.backup(file).catch((error) => error)
    expect(failed).toMatchObject({ name: 'BackupRefused' })
    return failed.message as string
  }
  fs.mkdirSync(path.join(into, 'directory'))
  fs.symlinkSync(path.join(into, 'nowhere'), path.join(into, 'link'))
  expect(await why(path.join(into, 'directory'))).toMatch(/exists already/)
  expect(await why(path.join(into, 'link'))).toMatch(/exists already/)
  expect(await why(path.join(into, 'nothing', 'b.db'))).toMatch(
    /nothing\/b.db can't be written \(ENOENT\).*directory/,
  )
  expect(await why(path.join(into, 'nul\0'))).toMatch(/can't be written \(ERR_INVALID_ARG_VALUE\)/)
  expect(await why(path.join(directory, 'marks.db-journal'))).toMatch(/the store itself uses/)
  expect(await why(path.join(directory, 'Marks.DB-journal'))).toMatch(/the store itself uses/)
  if (process.platform === 'linux')
    expect(await why('/proc/b.db')).toMatch(/type 0x9fa0.*not known to be local/)
  expect(fs.readdirSync(into).sort()).toEqual(['directory', 'link'])
  await record(store, 'k', 9n, true)
  await store.close(true)
})

test('a backup that would fill the disk of the store is refused before it is begun', async () => {
  const store = openStore(options())
  const into = path.dirname(store.directory)
  const file = path.join(fs.mkdtempSync(path.join(into, 'fencegate-')), 'b.db')
  const source = (freeBytes: number): BackupSource => {
    return {
      db: store.db,
      directory: store.directory,
      sizes: () => ({ bytes: 1e6, walBytes: 1e6, freeBytes }),
    }
  }
  const margin = 64 * 1024 * 1024
  const short = new Backup(source(2e6 + margin - 1), file).run()
  await expect(short).rejects.toThrow(
    /on the disk of the store.*would be needed.*name a file on another disk/,
  )
  expect(fs.readdirSync(path.dirname(file))).toEqual([])
  expect(await new Backup(source(2e6 + margin), file).run()).toMatchObject({ commitSequence: 0 })
  fs.rmSync(path.dirname(file), { recursive: true })
  store.close()
})

test('a file that comes while a backup is made is not replaced', async () => {
  const store = openStore(options())
  const file = path.join(temporaryDirectory(), 'b.db')
  const running = new Backup(store, file).run()
  fs.writeFileSync(file, 'another')
  await expect(running).rejects.toMatchObject({
    name: 'BackupRefused',
    message: expect.stringContaining('came in the way of'),
  })
  expect(fs.readFileSync(file, 'utf8')).toBe('another')
  expect(fs.readdirSync(path.dirname(file))).toEqual(['b.db'])
  store.close()
})

test('of two stores that are backed up to one name at a time, none passes for the other', async () => {
  const stores = [openStore(options()), openStore(options())]
  const file = path.join(temporaryDirectory(), 'b.db')
  const tables = stores.map((store) => new StoreTables(store))
  for (const [i, table] of tables.entries())
    table.commit(TASKS.map((task) => markChange(task, BigInt(i + 1), true)))
  const [first, second] = stores.map((store) => new Backup(store, file)) as [Backup, Backup]
  const earlier = first.run()
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  const results = await Promise.allSettled([earlier, second.run()])
  // Which of them is first at each step is up to the machine.
  const made = results.findIndex(({ status }) => status === 'fulfilled')
  expect(results[1 - made]).toMatchObject({
    reason: {
      message: expect.stringMatching(/exists already|another file came in the way/),
    },
  })
  expect(fs.readdirSync(path.dirname(file))).toEqual(['b.db'])
  expect(sumOf(file).sum, 'of the one that was made').toBe((made + 1) * TASKS.length)
  for (const store of stores) store.close()
})

test('a transaction that is open when a backup begins is waited for', async () => {
  const store = openStore(options())
  const file = path.join(temporaryDirectory(), 'b.db')
  store.db.exec("BEGIN IMMEDIATE; INSERT INTO frozen VALUES ('uncommitted')")
  const running = new Backup(store, file).run()
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  store.db.exec('ROLLBACK')
  await running
  const copy = new DatabaseSync(file, { readOnly: true })
  expect(copy.prepare('SELECT count(*) AS n FROM frozen').get()).toEqual({ n: 0 })
  copy.close()
  store.close()
})

test('a disk that fills up while the copy is made: nothing is left, and the store goes on', async () => {
  const where = options()
  await (await openInProcess(where)).close(true)
  const store = await openInProcess(where, { fileBlocks: 1024 })
  const data = { text: 'x'.repeat(440_000) } // Fits into the log and into the file, but not into one file.
  await store.commit([
    { kind: 'journal', entries: [{ atMs: 1, kind: 'handover', task: 'k', token: 1n, data }] },
  ])
  const file = path.join(temporaryDirectory(), 'b.db')
  const failed = store.backup(file)
  await expect(failed).rejects.toMatchObject({ name: 'StoreError' })
  await expect(failed).rejects.toThrow(`${file} can't be written (SQLite error`)
  expect(fs.readdirSync(path.dirname(file))).toEqual([])
  await record(store, 'k', 9n, true)
  await store.kill()
})
