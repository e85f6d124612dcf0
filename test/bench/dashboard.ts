/**
 * What dashboards that are looked at cost the writes: none, one and ten of them in turn on one sidecar, so that what else
 * the machine does falls on all. Meanwhile a stale worker has its writes rejected, so that there is something to stream.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { LoadResult } from './load.ts'
import { type BenchProcess, reply, startScript, startServer, startSidecar } from './processes.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'
import { drive } from './writes.ts'

const CONNECTIONS = 64
/** The second of none shows how far two equal runs differ by chance. */
const CASES = [
  { dashboards: 'none', tabs: 0 },
  { dashboards: 'none again', tabs: 0 },
  { dashboards: '1', tabs: 1 },
  { dashboards: '10', tabs: 10 },
]
const STALE_EVERY_MS = 20
const STALE_MARK = 1_000_000

interface Round extends LoadResult {
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

export async function dashboards(scale: Scale): Promise<Section> {
  const requests = scale.quick ? 5000 : 40_000
  const rounds = scale.quick ? 4 : 8
  const data = path.join(fs.mkdtempSync(path.join(scale.directory, 'dashboard-')), 'data')
  const upstream = await startServer('upstream.ts')
  const sidecar = await startSidecar({ main: scale.main, upstreamPort: upstream.port, data })
  const browser = startScript('dashboard-tab.ts', [`http://127.0.0.1:${sidecar.adminPort}`])
  const load = startScript('load.ts')
  const staleWorker = new StaleWorker(sidecar.port)
  await staleWorker.start()
  const run = { port: sidecar.port, connections: CONNECTIONS, requests, tasks: 100 }
  await drive(load, run)
  const results = CASES.map((): Round[] => [])
  for (let i = 0; i < rounds; i++) {
    // Each case is first, and last, as often as the others.
    for (let j = 0; j < CASES.length; j++) {
      const place = (i + j) % CASES.length
      browser.child.send(CASES[place]?.tabs ?? 0)
      await reply(browser)
      results[place]?.push(await measure(sidecar.process, requests, () => drive(load, run)))
    }
  }
  const rejected = await staleWorker.stop()
  for (const process of [browser, load, sidecar.process, upstream.process]) await process.end()
  return {
    name: 'dashboard',
    title: `Writes beside dashboards that are looked at: ${CONNECTIONS} connections, 100 tasks`,
    rows: CASES.map(({ dashboards }, i) => row(dashboards, results[i] ?? [], results[0] ?? [])),
    notes: [
      `medians of ${rounds} rounds of ${requests} requests each; ratios are to no dashboard in the same round`,
      'a dashboard is a stand-in: the poller and the stream reader of the page in a process of their own, without a browser',
      `${rejected} stale writes were rejected and streamed meanwhile, at most one every ${STALE_EVERY_MS} ms`,
    ],
  }
}

async function measure(
  sidecar: BenchProcess,
  requests: number,
  work: () => Promise<LoadResult>,
): Promise<Round> {
  const before = sidecar.cpu
  const result = await work()
  const { userSeconds, systemSeconds } = sidecar.cpu
  const seconds = userSeconds - before.userSeconds + systemSeconds - before.systemSeconds
  return { ...result, perSecond: requests / result.seconds, cpuMicroseconds: (seconds * 1e6) / requests }
}

function row(dashboards: string, own: readonly Round[], none: readonly Round[]) {
  const middle = (of: (round: Round) => number) => median(own.map(of))
  const ratio = (of: (round: Round) => number) =>
    twoDigits(median(own.map((round, i) => of(round) / of(none[i] as Round))))
  return {
    dashboards,
    'writes/s': Math.round(middle(({ perSecond }) => perSecond)),
    ratio: ratio(({ perSecond }) => perSecond),
    'p50 ms': twoDigits(middle(({ p50Ms }) => p50Ms)),
    'p99 ms': twoDigits(middle(({ p99Ms }) => p99Ms)),
    'p99 ratio': ratio(({ p99Ms }) => p99Ms),
    'CPU µs/write': Math.round(middle(({ cpuMicroseconds }) => cpuMicroseconds)),
    'CPU ratio': ratio(({ cpuMicroseconds }) => cpuMicroseconds),
  }
}

/** A worker that goes on with lower and lower tokens: each rejection is an entry of its own in the journal. */
class StaleWorker {
  readonly #url: string
  #token = STALE_MARK
  #stopped = false
  #done = Promise.resolve()

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}/x`
  }

  async start(): Promise<void> {
    await this.#write(200)
    this.#done = this.#goOn()
    // It is looked at when it is stopped.
    this.#done.catch(() => {})
  }

  /** Resolves with how many of its writes were rejected. */
  async stop(): Promise<number> {
    this.#stopped = true
    await this.#done
    return STALE_MARK - this.#token
  }

  async #goOn(): Promise<void> {
    while (!this.#stopped) {
      await new Promise((resolve) => setTimeout(resolve, STALE_EVERY_MS))
      this.#token--
      await this.#write(412)
    }
  }

  async #write(expected: number): Promise<void> {
    const headers = { 'Fencing-Task': 'stale', 'Fencing-Token': String(this.#token) }
    const response = await fetch(this.#url, { method: 'PUT', headers, body: '{}' })
    await response.arrayBuffer()
    if (response.status !== expected)
      throw new Error(`a write with a stale token was answered ${response.status}`)
  }
}
