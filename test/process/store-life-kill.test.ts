/**
 * `kill -9` at the steps of a restore and of a migration, and at some of a backup: what is there afterwards is whole or
 * not there, the next attempt takes it from there, and nothing is forgotten. FENCEGATE_KILL_EVERY=1 takes each step,
 * FENCEGATE_SEED repeats a run's choice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openStore, restoreStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { markChange, markOf, record } from '../support/store-changes.ts'
import { openInProcess } from '../support/store-process.ts'
import { SCHEMA_2 } from '../support/store-schema-2.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { until } from '../support/wait.ts'

const support = (file: string) => fileURLToPath(new URL(`../support/${file}`, import.meta.url))
const EVERY = Number(process.env.FENCEGATE_KILL_EVERY ?? 6)
const SEED = Number(process.env.FENCEGATE_SEED ?? Math.floor(Math.random() * 2 ** 32))
/** The last steps are about the file that has its name already. */
const LAST = 3
const KILL_POINT = support('kill-point.ts')

/** Runs it until the nth step, of those that leave something on the disk; returns how many there were, if it got there. */
async function runTo(nth: number, ...args: string[]): Promise<number | undefined> {
  const child = spawn(process.execPath, ['--import', KILL_POINT, support('store-life-child.ts'), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, TEST_KILL_AT: `any:${nth}` },
  })
  let steps: number | undefined
  child.on('message', (count: number) => {
    steps = count
  })
  const [code, signal] = await once(child, 'exit')
  expect([code, signal]).toEqual(nth === 0 ? [0, null] : [null, 'SIGKILL'])
  return steps
}

/** Kills it before some of its steps, on a place of its own for each; two processes at a time. */
async function killAtSteps(
  args: (place: string) => string[],
  prepare: (place: string) => void,
  compare: (place: string, nth: number) => void,
): Promise<void> {
  const directory = temporaryDirectory()
  const place = (nth: number) => {
    const made = path.join(directory, String(nth))
    fs.mkdirSync(made)
    prepare(made)
    return made
  }
  const steps = (await runTo(0, ...args(place(0)))) as number
  expect(steps).toBeGreaterThan(12)
  const all = Array.from({ length: steps }, (_, i) => i + 1)
  const chosen = all.filter((nth) => nth % EVERY === SEED % EVERY || nth > steps - LAST)
  const lane = async () => {
    for (let nth = chosen.shift(); nth !== undefined; nth = chosen.shift()) {
      const here = place(nth)
      await runTo(nth, ...args(here))
      compare(here, nth)
    }
  }
  await Promise.all([lane(), lane()])
}

function open(directory: string) {
  const store = openStore({ directory, create: 'never', lockWaitMs: 0, intentsComplete: true })
  return { store, tables: new StoreTables(store) }
}

/** A store of version 2, as it was stopped cleanly. */
function oldStore(file: string): void {
  const db = new DatabaseSync(file)
  db.exec(`BEGIN; ${SCHEMA_2}
    INSERT INTO meta VALUES (1, 1700000000000, 41, 1, 1, 7);
    INSERT INTO marks VALUES ('k', 9, 1, 'worker-1'), ('other', 8, 0, NULL);
    COMMIT; PRAGMA journal_mode = WAL`)
  db.close()
}

test(`a migration that is killed leaves a store that the next start migrates (FENCEGATE_SEED=${SEED})`, async () => {
  const original = path.join(temporaryDirectory(), 'original.db')
  oldStore(original)
  const before = fs.readFileSync(original)
  await killAtSteps(
    (place) => ['open', place],
    (place) => fs.copyFileSync(original, path.join(place, 'marks.db')),
    (place, nth) => {
      const { tables } = open(place)
      expect(tables.load('k').mark, `killed at step ${nth}`).toMatchObject({ token: 9n, complete: true })
      expect(tables.load('other').mark).toMatchObject({ token: 8n, complete: false })
      tables.close(true)
      const names = fs.readdirSync(place).sort()
      expect(names, `killed at step ${nth}`).toEqual(['lock.db', 'marks.db', 'marks.db.schema-2'])
      expect(fs.readFileSync(path.join(place, 'marks.db.schema-2')).equals(before)).toBe(true)
    },
  )
})

test(`a restore that is killed leaves a whole store or none (FENCEGATE_SEED=${SEED})`, async () => {
  const backup = path.join(temporaryDirectory(), 'backup.db')
  oldStore(backup)
  const before = fs.readFileSync(backup)
  let [made, unmade] = [0, 0]
  await killAtSteps(
    (place) => ['restore', place, backup],
    () => {},
    (place, nth) => {
      if (fs.existsSync(path.join(place, 'marks.db'))) {
        made++
      } else {
        unmade++
        restoreStore(place, { file: backup, floor: 40n, by: 'ops', reason: 'why' }, 0)
      }
      const { store, tables } = open(place)
      expect(store.origin, `killed at step ${nth}`).toMatchObject({
        unclean: true,
        intentsWereComplete: false,
      })
      const tokens = ['k', 'other', 'unheard of'].map((task) => tables.load(task).mark.token)
      expect(tokens).toEqual([40n, 40n, 40n])
      tables.close(true)
      expect(fs.readdirSync(place).sort()).toEqual(['lock.db', 'marks.db'])
      expect(fs.readFileSync(backup).equals(before)).toBe(true)
    },
  )
  expect(made).toBeGreaterThan(0)
  expect(unmade).toBeGreaterThan(3)
})

test.each([
  ['while it copies', undefined],
  ['before its file has its name', 'linkSync:1'],
  ['when its file has its name', 'fsyncSync:2'],
])('a store that is killed by a backup, %s, forgets nothing, and makes the next one', async (_, killAt) => {
  const options = {
    directory: temporaryDirectory(),
    create: 'if-missing',
    lockWaitMs: 0,
    intentsComplete: true,
  } as const
  const into = temporaryDirectory()
  const file = path.join(into, 'backup.db')
  await (await openInProcess(options)).close(true)
  const store = await openInProcess(options, {
    ...(killAt && { preload: KILL_POINT, env: { TEST_KILL_AT: killAt } }),
  })
  await store.commit(Array.from({ length: 5_000 }, (_, i) => markChange(`task-with-a-name/${i}`, 1n, true)))
  await record(store, 'k', 9n, true)
  const ended = store.backup(file) // Nobody answers it.
  ended.catch(() => {})
  await until(
    () => fs.readdirSync(path.dirname(file)).some((name) => name.startsWith(path.basename(file))),
    'the backup begins',
    60_000,
  )
  if (killAt) await store.exited
  else await store.kill()

  const reopened = await openInProcess(options)
  expect(reopened.origin).toMatchObject({ unclean: true })
  expect(reopened.counts().tasks).toBe(5_001)
  expect(await markOf(reopened, 'k')).toMatchObject({ token: 9n, complete: true })
  if (fs.existsSync(file)) {
    const place = temporaryDirectory()
    expect(restoreStore(place, { file, floor: 9n, by: 'ops', reason: 'why' }, 0)).toMatchObject({
      tasks: 5_001,
    })
    fs.rmSync(file)
  }
  expect(await reopened.backup(file)).toMatchObject({ commitSequence: reopened.counts().commitSequence })
  expect(fs.readdirSync(into)).toEqual(['backup.db'])
  await reopened.close(true)
})
