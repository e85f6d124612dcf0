/** What idle client connections cost: memory of the sidecar for each, and how much slower writes are beside them. */
import fs from 'node:fs'
import path from 'node:path'
import {
  type BenchProcess,
  reply,
  type Sidecar,
  startScript,
  startServer,
  startSidecar,
} from './processes.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'
import { drive } from './writes.ts'

const MEBI = 2 ** 20
const CLIENT_PROCESSES = 4
/** What the sidecar opens besides client connections, amply. */
const OTHER_FILES = 500

interface Writes {
  /** Of a write, one at a time. */
  readonly microseconds: number
  /** With 64 at a time. */
  readonly perSecond: number
}

export async function idle(scale: Scale): Promise<Section> {
  const { directory, main } = scale
  const upstream = await startServer('upstream.ts')
  const data = path.join(fs.mkdtempSync(path.join(directory, 'idle-')), 'data')
  const config = { limits: { connections: 20_000, idleTimeout: '1h' } }
  const sidecar = await startSidecar({ main, upstreamPort: upstream.port, data, config })
  const load = startScript('load.ts')
  const count = Math.min(scale.quick ? 1000 : 10_000, openFiles(sidecar) - OTHER_FILES)
  await writes(load, sidecar, scale)

  const before = await writes(load, sidecar, scale)
  const residentBefore = sidecar.process.residentBytes
  const clients = await connect(sidecar, count)
  const resident = sidecar.process.residentBytes
  const beside = await writes(load, sidecar, scale)
  for (const process of clients) await process.end()
  await until(() => sockets(sidecar) < OTHER_FILES)
  const after = await writes(load, sidecar, scale)
  const residentAfter = sidecar.process.residentBytes
  for (const process of [load, sidecar.process, upstream.process]) await process.end()

  const row = (connections: number, own: Writes, bytes: number) => ({
    'idle connections': connections,
    'RSS MiB': Math.round(bytes / MEBI),
    'KiB each': connections === 0 ? '' : twoDigits((bytes - residentBefore) / connections / 1024),
    'µs/write': Math.round(own.microseconds),
    'writes/s': Math.round(own.perSecond),
  })
  const ratio = (of: (one: Writes) => number) => twoDigits(of(beside) / median([of(before), of(after)]))
  return {
    name: 'idle',
    title: 'Idle client connections, each after one write; and other writes beside them',
    rows: [row(0, before, residentBefore), row(count, beside, resident), row(0, after, residentAfter)],
    notes: [
      'µs/write: one at a time; writes/s: 64 at a time; medians of several rounds',
      `beside them a write takes ${ratio(({ microseconds }) => microseconds)} times as long, ` +
        `and there are ${ratio(({ perSecond }) => perSecond)} times as many a second`,
    ],
  }
}

async function writes(load: BenchProcess, { port }: Sidecar, { quick }: Scale): Promise<Writes> {
  const [rounds, requests] = quick ? [3, 500] : [7, 3000]
  const times: { alone: number; many: number }[] = []
  for (let i = 0; i < rounds; i++) {
    const alone = await drive(load, { port, connections: 1, requests, tasks: 1 })
    const many = await drive(load, { port, connections: 64, requests: requests * 2, tasks: 1 })
    times.push({ alone: alone.seconds / requests, many: (requests * 2) / many.seconds })
  }
  return {
    microseconds: median(times.map(({ alone }) => alone)) * 1e6,
    perSecond: median(times.map(({ many }) => many)),
  }
}

/** From several processes, each of which may open only so many files. */
async function connect({ port }: Sidecar, count: number): Promise<BenchProcess[]> {
  const each = Math.ceil(count / CLIENT_PROCESSES)
  const processes: BenchProcess[] = []
  for (let left = count; left > 0; left -= each) {
    processes.push(startScript('idle-clients.ts', [String(port), String(Math.min(each, left))]))
  }
  await Promise.all(processes.map(reply))
  return processes
}

/** How many files the sidecar may open. */
function openFiles({ process }: Sidecar): number {
  const limits = fs.readFileSync(`/proc/${process.child.pid}/limits`, 'utf8')
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity)
}

function sockets({ process }: Sidecar): number {
  return fs.readdirSync(`/proc/${process.child.pid}/fd`).length
}

async function until(done: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!done()) {
    if (performance.now() > deadline) throw new Error('the connections did not end within a minute')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
