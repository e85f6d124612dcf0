/** What a large store's life costs the commits beside it: a backup, and retiring all of its idle marks. */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { MarkStore } from '../../src/store/mark-store.ts'
import { STORE_FILE } from '../../src/store/schema.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import { initStore } from '../../src/store/store-file.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'

const PREFIX = 'settlement-2026-11-30/'
const FLOOR = 41_000n
/** Commits under way at once. */
const LANES = 16
const BATCH = 1000

export async function storeLife(scale: Scale): Promise<Section> {
  const tasks = scale.quick ? 50_000 : 1_000_000
  const directory = fs.mkdtempSync(path.join(scale.directory, 'store-'))
  fill(directory, tasks)
  const options = { directory, create: 'never', lockWaitMs: 0, intentsComplete: true } as const
  const store = await openSqliteMarkStore(options, (error) => {
    throw error
  })
  const { bytes } = await store.state()
  const load = new Load(store)
  const rows: Section['rows'][number][] = []
  const measure = async (what: string, work: () => Promise<unknown>) => {
    load.take()
    const started = performance.now()
    await work()
    const seconds = (performance.now() - started) / 1000
    const times = load.take().sort((a, b) => a - b)
    rows.push({
      what,
      seconds: twoDigits(seconds),
      'commits/s': Math.round(times.length / seconds),
      'commit ms': twoDigits(median(times)),
      'p99 ms': twoDigits(times[Math.floor(times.length * 0.99)] as number),
      'max ms': twoDigits(times.at(-1) as number),
    })
  }
  const nothing = () => new Promise((resolve) => setTimeout(resolve, 5_000))
  await measure('nothing beside', nothing)
  await measure('backup', () => store.backup(path.join(directory, 'backup.db')))
  await measure('nothing beside', nothing)
  await measure('retire all', () => retire(store))
  const left = store.counts().tasks
  await load.stop()
  await store.close(true)
  return {
    name: 'backup',
    title: `Backup and retirement of ${tasks} tasks, beside ${LANES} commits at a time`,
    rows,
    notes: [
      `the store has ${bytes} bytes, ${Math.round(bytes / tasks)} a task; the backup ${fs.statSync(path.join(directory, 'backup.db')).size}`,
      `retired: ${tasks - left + LANES} of ${tasks} marks, ${BATCH} a commit`,
    ],
  }
}

function fill(directory: string, tasks: number): void {
  initStore(directory, 0n, 0)
  const db = new DatabaseSync(path.join(directory, STORE_FILE))
  db.prepare(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
     INSERT INTO marks (task, token, complete, holder, used_at_ms)
     SELECT printf('${PREFIX}%07d', n), 40000, 1, printf('worker-%d', n % 10), 1700000000000 FROM n`,
  ).run(tasks)
  db.close()
}

/** Raises marks of its own, each lane one after the other. */
class Load {
  readonly #store: MarkStore
  readonly #lanes: Promise<void>[]
  #times: number[] = []
  #stopped = false

  constructor(store: MarkStore) {
    this.#store = store
    this.#lanes = Array.from({ length: LANES }, (_, i) => this.#lane(`live-${i}`))
  }

  /** What each commit since the last time took, in milliseconds. */
  take(): number[] {
    return this.#times.splice(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#lanes)
  }

  async #lane(task: string): Promise<void> {
    for (let token = 1n; !this.#stopped; token++) {
      const started = performance.now()
      await this.#store.commit([{ kind: 'mark', task, token, complete: true, holder: undefined }])
      this.#times.push(performance.now() - started)
    }
  }
}

async function retire(store: MarkStore): Promise<void> {
  const beforeMs = Date.now() - 3_600_000
  await store.commit([{ kind: 'floor', prefix: PREFIX, floor: FLOOR }])
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await store.idle({ prefix: PREFIX, beforeMs, limit: BATCH, after })
    const tasks = page.rows.map(({ task }) => task)
    if (tasks.length > 0) await store.commit([{ kind: 'retired', tasks, beforeMs, floor: FLOOR }])
    after = page.next
  }
}
