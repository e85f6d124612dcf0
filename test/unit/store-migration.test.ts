/** A store that an older version made keeps everything, and is brought to this version whole or not at all. */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { EXIT } from '../../src/errors.ts'
import { SCHEMA_VERSION } from '../../src/store/schema.ts'
import { initStore, openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { openInProcess } from '../support/store-process.ts'
import { SCHEMA_1 } from '../support/store-schema-1.ts'
import { SCHEMA_2 } from '../support/store-schema-2.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const ALL = { limit: 99, after: 0 }

const SCHEMAS = { 1: SCHEMA_1, 2: SCHEMA_2 }
type OldVersion = keyof typeof SCHEMAS

/** As that version left it: with marks, a freeze, writes of every kind, and acts. */
function oldStore({ cleanStop = true, version = 1 as OldVersion } = {}): string {
  const directory = temporaryDirectory()
  const db = new DatabaseSync(path.join(directory, 'marks.db'))
  db.exec(`
    BEGIN; ${SCHEMAS[version]}
    INSERT INTO meta VALUES (1, 1700000000000, 41, ${cleanStop ? 1 : 0}, 1, 7);
    INSERT INTO marks VALUES ('k', 9007199254740993, 1, 'worker-1'), ('other', 8, 0, NULL);
    INSERT INTO frozen VALUES ('other');
    INSERT INTO writes (id, task, token, holds, route, method, target, admitted_at_ms, reason, bytes_sent, ended_at_ms)
      VALUES ('open', 'k', 8, 1, 'r', 'POST', '/k', 1000, NULL, NULL, NULL),
             ('unknown', 'k', 9, 1, 'r', 'POST', '/k', 1000, 'timeout', 3, 2000),
             ('resolved', 'k', 7, 1, 'r', 'POST', '/k', 1000, 'timeout', 3, 2000);
    UPDATE writes SET resolution = 'applied', resolved_by = 'ops', note = 'why', resolved_at_ms = 3000
      WHERE id = 'resolved';
    INSERT INTO acts (at_ms, kind, task, token, author, reason)
      VALUES (4000, 'freeze', 'other', NULL, 'ops', 'an incident'), (5000, 'raise', 'k', 9007199254740993, 'eve', 'é');
    ${version > 1 ? ACTS_IN_JOURNAL : ''}
    COMMIT; PRAGMA journal_mode = WAL;
  `)
  db.close()
  return directory
}

const ACTS_IN_JOURNAL =
  'INSERT INTO journal (at_ms, kind, task, token, data) ' +
  "SELECT at_ms, 'act', task, token, json_object('act', kind, 'by', author, 'reason', reason) FROM acts ORDER BY id;"

const open = (directory: string) =>
  openStore({ directory, create: 'never', lockWaitMs: 0, intentsComplete: true })

test.each([
  { version: 1, cleanStop: true },
  { version: 1, cleanStop: false },
  { version: 2, cleanStop: true },
] as const)(
  'a store of version $version keeps all of it (clean stop: $cleanStop)',
  ({ version, cleanStop }) => {
    const directory = oldStore({ version, cleanStop })
    const before = fs.readFileSync(path.join(directory, 'marks.db'))
    const store = open(directory)
    expect(store.floor).toBe(7n)
    expect(store.origin).toEqual({
      ...{ unclean: !cleanStop, intentsWereComplete: true, created: false, createdAtMs: 1_700_000_000_000 },
      migrated: { from: version, copy: path.join(directory, `marks.db.schema-${version}`) },
    })
    expect(store.counts).toEqual({ tasks: 2, commitSequence: 41, unresolved: 2, frozen: 1, lastEntry: 2 })
    const tables = new StoreTables(store)
    expect(tables.load('k')).toEqual({
      mark: { token: 9007199254740993n, complete: true, recorded: true, holder: 'worker-1' },
      frozen: false,
      held: [
        { id: 'open', token: 8n, operation: undefined },
        { id: 'unknown', token: 9n, operation: undefined },
      ],
    })
    expect(tables.load('other')).toMatchObject({ mark: { token: 8n, complete: false }, frozen: true })
    expect(tables.unknownWrite('resolved')).toMatchObject({ resolution: 'applied', note: 'why' })
    expect(tables.journal(ALL).rows).toEqual([
      {
        ...{ seq: 1, atMs: 4_000, kind: 'act', task: 'other', token: undefined },
        data: { act: 'freeze', by: 'ops', reason: 'an incident' },
      },
      {
        ...{ seq: 2, atMs: 5_000, kind: 'act', task: 'k', token: 9007199254740993n },
        data: { act: 'raise', by: 'eve', reason: 'é' },
      },
    ])
    for (const { usedAtMs } of tables.tasks({ limit: 9, after: '' }).rows) {
      expect(Math.abs((usedAtMs ?? 0) - Date.now()), 'as of the migration').toBeLessThan(60_000)
    }
    expect(fs.readFileSync(path.join(directory, `marks.db.schema-${version}`)).equals(before)).toBe(true)
    const attempt = attemptRecord('1')
    tables.commit([...begin(attempt), ...finish(attempt, ENDS.final)])
    tables.close(true)

    const again = open(directory)
    expect(new StoreTables(again).operation('op')).toMatchObject({ state: 'done' })
    expect(again.db.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
    again.close()
  },
)

test.each([1, 2] as const)('a store of version %d has the tables of a new one then', (version) => {
  const tablesOf = (directory: string) => {
    const { db, close } = open(directory)
    const found = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql <> '' ORDER BY name").all()
    close()
    return found
  }
  const directory = temporaryDirectory()
  initStore(directory, 0n, 0)
  expect(tablesOf(oldStore({ version }))).toEqual(tablesOf(directory))
})

test('a migration that fails leaves the store as version 1 left it', () => {
  const directory = oldStore()
  const file = path.join(directory, 'marks.db')
  const db = new DatabaseSync(file)
  db.exec("CREATE TABLE journal (mine TEXT); INSERT INTO journal VALUES ('stays')") // In the way of its last table.
  db.close()
  expect(() => open(directory)).toThrow(/store.path.*journal/)
  const after = new DatabaseSync(file)
  const names = after.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
  expect(names.map(({ name }) => name)).toEqual(['acts', 'frozen', 'journal', 'marks', 'meta', 'writes'])
  expect(after.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 })
  after.exec('DROP TABLE journal')
  after.close()
  open(directory).close()
  expect(fs.existsSync(`${file}-wal`)).toBe(false)
})

test('a store in its log is copied with what is in the log', () => {
  const directory = oldStore({ version: 2 })
  const file = path.join(directory, 'marks.db')
  const db = new DatabaseSync(file)
  db.exec(
    "PRAGMA wal_autocheckpoint = 0; UPDATE meta SET clean_stop = 0; UPDATE marks SET token = 99 WHERE task = 'k'",
  )
  fs.cpSync(directory, `${directory}-killed`, { recursive: true }) // As a kill would leave it.
  db.close()
  const killed = `${directory}-killed`
  expect(fs.statSync(path.join(killed, 'marks.db-wal')).size).toBeGreaterThan(0)
  open(killed).close()
  const copy = new DatabaseSync(path.join(killed, 'marks.db.schema-2'), { readOnly: true })
  expect(copy.prepare("SELECT token FROM marks WHERE task = 'k'").get()).toEqual({ token: 99 })
  copy.close()
  fs.rmSync(killed, { recursive: true })
})

test('a copy from an earlier migration is kept: as it is if it is the same, else under another name', () => {
  const directory = oldStore({ version: 2 })
  const file = path.join(directory, 'marks.db')
  const copies = () => fs.readdirSync(directory).filter((name) => name.includes('schema'))
  const old = fs.readFileSync(file)
  open(directory).close()
  fs.writeFileSync(file, old)
  const { ino } = fs.statSync(`${file}.schema-2`)
  open(directory).close()
  expect(copies()).toEqual(['marks.db.schema-2'])
  expect(fs.statSync(`${file}.schema-2`).ino).toBe(ino)
  fs.writeFileSync(`${file}.schema-2`, 'of another time')
  fs.writeFileSync(`${file}.schema-2.1`, 'of yet another')
  fs.writeFileSync(`${file}.schema-2.new`, 'half a copy')
  fs.writeFileSync(file, old)
  open(directory).close()
  expect(copies()).toEqual(['marks.db.schema-2', 'marks.db.schema-2.1', 'marks.db.schema-2.2'])
  expect(fs.readFileSync(`${file}.schema-2.1`, 'utf8')).toBe('of yet another')
  expect(fs.readFileSync(`${file}.schema-2.2`, 'utf8')).toBe('of another time')
  expect(fs.readFileSync(`${file}.schema-2`).equals(old)).toBe(true)
})

test('a full disk that has no room for the copy is no start: 69, and the store is as it was', async () => {
  const directory = oldStore({ version: 2 })
  const file = path.join(directory, 'marks.db')
  const before = fs.readFileSync(file)
  const options = { directory, create: 'never', lockWaitMs: 0, intentsComplete: true } as const
  const opening = openInProcess(options, { fileBlocks: 64 })
  await expect(opening).rejects.toMatchObject({ exitCode: EXIT.unavailable })
  await expect(opening).rejects.toThrow(/schema 2.*can't be copied to .*schema-2.*was not changed.*room/)
  expect(fs.readFileSync(file).equals(before)).toBe(true)
  expect(fs.readdirSync(directory).sort()).toEqual(['lock.db', 'marks.db'])
  open(directory).close()
})
