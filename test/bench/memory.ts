/** What many tasks cost: resident memory of a sidecar on a large store, and the time until it is ready. */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STORE_FILE } from '../../src/store/schema.ts'
import { initStore } from '../../src/store/store-file.ts'
import { startScript, startServer, startSidecar } from './processes.ts'
import type { Scale, Section } from './report.ts'
import { drive } from './writes.ts'

export async function memory(scale: Scale): Promise<Section> {
  const sizes = scale.quick ? [10_000, 100_000] : [100_000, 1_000_000]
  const rows: Section['rows'][number][] = []
  for (const tasks of sizes) rows.push(await measure(tasks, scale))
  return {
    name: 'memory',
    title: 'A sidecar on a large store: resident memory in MiB, and time from spawn to ready',
    rows,
    notes: [
      'touched: one write on each of that many tasks; the cache of marks keeps 100,000 (store.cachedTasks)',
      'after SIGKILL a start checks the integrity of the whole store',
    ],
  }
}

async function measure(tasks: number, { directory, quick, main }: Scale): Promise<Section['rows'][number]> {
  const data = path.join(fs.mkdtempSync(path.join(directory, 'memory-')), 'data')
  fill(data, tasks)
  const upstream = await startServer('upstream.ts')
  const options = { main, upstreamPort: upstream.port, data }
  const load = startScript('load.ts')
  const touched = quick ? 5000 : Math.min(tasks, 250_000)

  const clean = await startSidecar(options)
  const idle = clean.process.residentBytes
  await drive(load, { port: clean.port, connections: 64, requests: touched, tasks: touched })
  const used = clean.process.residentBytes
  await clean.process.end('SIGKILL')
  const unclean = await startSidecar(options)
  await unclean.process.end()
  for (const process of [load, upstream.process]) await process.end()
  return {
    tasks,
    'store MiB': mebibytes(fs.statSync(path.join(data, STORE_FILE)).size),
    'ready ms': Math.round(clean.readyMs),
    'ready ms, killed before': Math.round(unclean.readyMs),
    'RSS at start': mebibytes(idle),
    touched,
    'RSS after that': mebibytes(used),
  }
}

/** A store with that many tasks, each at token 8, named as `load.ts` names them. */
function fill(data: string, tasks: number): void {
  initStore(data, 0n, 1000)
  const db = new DatabaseSync(path.join(data, STORE_FILE))
  try {
    db.prepare(
      `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)
       INSERT INTO marks (task, token, complete, used_at_ms) SELECT printf('settlement-%07d', n), 8, 1, 1700000000000 FROM numbers`,
    ).run(tasks)
  } finally {
    db.close()
  }
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
