/** What listing a store of many tasks costs: the time of a page and of a whole walk, and what writes notice of it. */
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STORE_FILE } from '../../src/store/schema.ts'
import { initStore } from '../../src/store/store-file.ts'
import { type BenchProcess, startServer, startSidecar } from './processes.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'

const WALKS = [
  { what: 'pages of 100', query: 'limit=100' },
  { what: 'pages of 1000', query: 'limit=1000' },
  { what: 'search, 1 in 100', query: 'limit=100&search=77-' },
  { what: 'search, none', query: 'limit=100&search=nobody' },
]
const ROUNDS = 3

export async function adminLists(scale: Scale): Promise<Section> {
  const tasks = scale.quick ? 10_000 : 100_000
  const data = path.join(fs.mkdtempSync(path.join(scale.directory, 'admin-')), 'data')
  fill(data, tasks)
  const upstream = await startServer('upstream.ts')
  const sidecar = await startSidecar({ main: scale.main, upstreamPort: upstream.port, data })
  const agent = new http.Agent({ keepAlive: true })
  const walk = (query: string) => walkThrough(path.join(data, 'control.sock'), agent, query)
  const writer = new Writer(sidecar.port)
  const rows: Section['rows'][number][] = []
  for (const { what, query } of WALKS) {
    await walk(query)
    const cpu = secondsOf(sidecar.process)
    const alone = await several(() => walk(query))
    const pages = alone.flat().length
    const cpuMs = (1000 * (secondsOf(sidecar.process) - cpu)) / pages
    // Without the walk and with it in turn, so that what else the machine does falls on both.
    const beside: number[][] = []
    const writes = { without: [] as number[], with: [] as number[] }
    const ratios: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const without = await writer.during(() => elapsed(1000))
      const during = await writer.during(async () => {
        const until = performance.now() + 1000
        do beside.push(await walk(query))
        while (performance.now() < until)
      })
      writes.without.push(...without)
      writes.with.push(...during)
      ratios.push(quantile(during, 0.5) / quantile(without, 0.5))
    }
    rows.push({
      what,
      pages: alone[0]?.length ?? 0,
      'page p50 ms': twoDigits(quantile(alone.flat(), 0.5)),
      'page p99 ms': twoDigits(quantile(alone.flat(), 0.99)),
      'CPU ms/page': twoDigits(cpuMs),
      'walk ms': Math.round(median(alone.map(sum))),
      'page p99 ms, writes': twoDigits(quantile(beside.flat(), 0.99)),
      'write p50 ms': twoDigits(quantile(writes.with, 0.5)),
      'write p99 ms': twoDigits(quantile(writes.with, 0.99)),
      'p99 ms without': twoDigits(quantile(writes.without, 0.99)),
      'p50 ratio': twoDigits(median(ratios)),
    })
  }
  agent.destroy()
  await sidecar.process.end()
  await upstream.process.end()
  return {
    name: 'admin',
    title: `GET /v1/tasks on a store of ${tasks.toLocaleString('en-US')} tasks, over the control socket`,
    rows,
    notes: [
      `a walk is all of the pages, one after the other; ${ROUNDS} of them, or as many as fit a second beside writes`,
      'write: one client raises a task with each write, one after the other; the ratio is to the second before, without walks',
    ],
  }
}

/** Names as of jobs by day, in an order that is not theirs. */
function fill(data: string, tasks: number): void {
  initStore(data, 0n, 1000)
  const db = new DatabaseSync(path.join(data, STORE_FILE))
  try {
    db.prepare(
      `WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ? - 1)
       INSERT INTO marks (task, token, complete, holder, used_at_ms)
       SELECT printf('settlement-%05d-%02d-eu', n / 100, n % 100), n + 1, 1, 'worker-' || (n % 7), 1.8e12 + n FROM n`,
    ).run(tasks)
  } finally {
    db.close()
  }
}

/** Milliseconds of each page. */
async function walkThrough(socketPath: string, agent: http.Agent, query: string): Promise<number[]> {
  const times: number[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const target: string = `/v1/tasks?${query}${after && `&after=${encodeURIComponent(after)}`}`
    const started = performance.now()
    const { next } = await get(socketPath, agent, target)
    times.push(performance.now() - started)
    after = next
  }
  return times
}

function get(socketPath: string, agent: http.Agent, target: string): Promise<{ next?: string }> {
  return new Promise((resolve, reject) => {
    const request = http.get({ socketPath, agent, path: target }, (response) => {
      const chunks: Buffer[] = []
      response.on('error', reject).on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (response.statusCode === 200) resolve(JSON.parse(text))
        else reject(new Error(`${target} was answered ${response.statusCode}: ${text}`))
      })
    })
    request.on('error', reject)
  })
}

/** One client that raises one task, one write after the other. */
class Writer {
  readonly #url: string
  #token = 0

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}/x`
  }

  /** Milliseconds of each write until the work is done. */
  async during(work: () => Promise<unknown>): Promise<number[]> {
    const times: number[] = []
    let isDone = false
    const done = work().finally(() => {
      isDone = true
    })
    while (!isDone) {
      const started = performance.now()
      const headers = { 'Fencing-Task': 'beside', 'Fencing-Token': String(++this.#token) }
      const response = await fetch(this.#url, { method: 'PUT', headers, body: '{}' })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`a write was answered ${response.status}`)
      times.push(performance.now() - started)
    }
    await done
    return times
  }
}

async function several(walk: () => Promise<number[]>): Promise<number[][]> {
  const walks: number[][] = []
  while (walks.length < ROUNDS) walks.push(await walk())
  return walks
}

function secondsOf({ cpu }: BenchProcess): number {
  return cpu.userSeconds + cpu.systemSeconds
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? 0
}
