/** A store that an older version made keeps everything, and is brought to this version whole or not at all. */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../src/store/schema.ts'
import { initStore, openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { SCHEMA_1 } from '../support/store-schema-1.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const ALL = { limit: 99, after: 0 }

/** As version 1 left it: with marks, a freeze, writes of every kind, and acts. */
function oldStore({ cleanStop }: { cleanStop: boolean }): string {
  const directory = temporaryDirectory()
  const db = new DatabaseSync(path.join(directory, 'marks.db'))
  db.exec(`
    BEGIN; ${SCHEMA_1}
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
    COMMIT; PRAGMA journal_mode = WAL;
  `)
  db.close()
  return directory
}

const open = (directory: string) =>
  openStore({ directory, create: 'never', lockWaitMs: 0, intentsComplete: true })

test.each([true, false])('a store of version 1 keeps all of it (clean stop: %s)', (cleanStop) => {
  const directory = oldStore({ cleanStop })
  const store = open(directory)
  expect(store.floor).toBe(7n)
  expect(store.origin).toEqual({
    ...{ unclean: !cleanStop, intentsWereComplete: true, created: false, createdAtMs: 1_700_000_000_000 },
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
  const attempt = attemptRecord('1')
  tables.commit([...begin(attempt), ...finish(attempt, ENDS.final)])
  tables.close(true)

  const again = open(directory)
  expect(new StoreTables(again).operation('op')).toMatchObject({ state: 'done' })
  expect(again.db.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
  again.close()
})

test('a migrated store has the tables of a new one', () => {
  const tablesOf = (directory: string) => {
    const { db, close } = open(directory)
    const found = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql <> '' ORDER BY name").all()
    close()
    return found
  }
  const directory = temporaryDirectory()
  initStore(directory, 0n, 0)
  expect(tablesOf(oldStore({ cleanStop: true }))).toEqual(tablesOf(directory))
})

test('a migration that fails leaves the store as version 1 left it', () => {
  const directory = oldStore({ cleanStop: true })
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
