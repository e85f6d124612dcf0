/**
 * What `guard: once` costs beside a plain fenced write: the kinds of writes in turn, in one run and through one
 * sidecar, so that what else the machine does falls on all of them. Then what an operation takes of the disk.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Load, LoadResult } from './load.ts'
import { type BenchProcess, type Sidecar, startScript, startServer, startSidecar } from './processes.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'
import { drive } from './writes.ts'

const CONNECTIONS = 64
const TASKS = 1000

interface Kind {
  readonly name: string
  readonly load: Pick<Load, 'path' | 'operation' | 'tasks'>
}

const FENCED = 'fenced'
const NEW = { path: '/once', operation: 'new' } as const

const REPLAYED = { path: '/once', operation: 'replayed', tasks: 1 }

const KINDS: readonly Kind[] = [
  { name: FENCED, load: { path: '/plain', tasks: 1 } },
  { name: 'fenced, with intents', load: { path: '/intents', tasks: 1 } },
  { name: 'once, one task', load: { ...NEW, tasks: 1 } },
  { name: `once, ${TASKS} tasks`, load: { ...NEW, tasks: TASKS } },
  { name: 'once, replayed', load: REPLAYED },
]

interface Round extends LoadResult {
  readonly perSecond: number
  readonly cpuMicroseconds: number
  readonly bytesWritten: number
}

const ROUTES = [
  { name: 'plain', match: { path: '/plain' } },
  { name: 'intents', match: { path: '/intents' }, intent: 'durable' },
  { name: 'once', match: { path: '/once' }, guard: 'once' },
]

export async function onceWrites(scale: Scale): Promise<Section> {
  const requests = scale.quick ? 2000 : 5000
  const rounds = scale.quick ? 3 : 5
  const upstream = await startServer('upstream.ts')
  const load = startScript('load.ts')
  const sidecar = await start(scale, upstream.port, dataIn(scale))
  // The one that is replayed: a repeat beside its first attempt would be told to wait.
  await drive(load, { port: sidecar.port, connections: 1, requests: 1, ...REPLAYED })
  const results = new Map<string, Round[]>(KINDS.map(({ name }) => [name, []]))
  for (const { load: kind } of KINDS) await round(load, sidecar, requests, kind)
  for (let i = 0; i < rounds; i++) {
    for (const { name, load: kind } of KINDS) {
      results.get(name)?.push(await round(load, sidecar, requests, kind))
    }
  }
  await sidecar.process.end()
  const bytes = await storedBytes(scale, load, upstream.port, requests)
  for (const process of [load, upstream.process]) await process.end()
  return {
    name: 'once',
    title: `Writes by their guard: JSON POST of about 200 bytes, ${CONNECTIONS} connections`,
    rows: KINDS.map(({ name }) => row(name, results)),
    notes: [
      `medians of ${rounds} rounds of ${requests} requests each, kinds in turn after a warm-up`,
      `ratios are medians over rounds, to fenced writes in the same round`,
      `the store grows by ${bytes} bytes for each operation (answers of 15 bytes, one attempt each)`,
    ],
  }
}

function row(name: string, results: ReadonlyMap<string, readonly Round[]>) {
  const own = results.get(name) as readonly Round[]
  const fenced = results.get(FENCED) as readonly Round[]
  const middle = (of: (round: Round) => number) => median(own.map(of))
  return {
    writes: name,
    'requests/s': Math.round(middle(({ perSecond }) => perSecond)),
    ratio: twoDigits(median(own.map(({ perSecond }, i) => perSecond / (fenced[i] as Round).perSecond))),
    'p50 ms': twoDigits(middle(({ p50Ms }) => p50Ms)),
    'p99 ms': twoDigits(middle(({ p99Ms }) => p99Ms)),
    'p99 ratio': twoDigits(median(own.map(({ p99Ms }, i) => p99Ms / (fenced[i] as Round).p99Ms))),
    'CPU µs/request': Math.round(middle(({ cpuMicroseconds }) => cpuMicroseconds)),
    'bytes written/request': Math.round(middle(({ bytesWritten }) => bytesWritten)),
  }
}

async function round(
  load: BenchProcess,
  { port, process }: Sidecar,
  requests: number,
  kind: Kind['load'],
): Promise<Round> {
  const before = { cpu: process.cpu, written: written(process) }
  const result = await drive(load, { port, connections: CONNECTIONS, requests, ...kind })
  const { userSeconds, systemSeconds } = process.cpu
  const seconds = userSeconds - before.cpu.userSeconds + (systemSeconds - before.cpu.systemSeconds)
  return {
    ...result,
    perSecond: requests / result.seconds,
    cpuMicroseconds: (seconds * 1e6) / requests,
    bytesWritten: (written(process) - before.written) / requests,
  }
}

/** Bytes that the process had written to disks. */
function written({ child }: BenchProcess): number {
  const io = fs.readFileSync(`/proc/${child.pid}/io`, 'utf8')
  return Number(/^write_bytes: (\d+)$/m.exec(io)?.[1])
}

/** What an operation adds to the store, once its log is emptied. */
async function storedBytes(scale: Scale, load: BenchProcess, upstreamPort: number, operations: number) {
  const data = dataIn(scale)
  const size = () => fs.statSync(path.join(data, 'marks.db')).size
  const run = async (requests: number) => {
    const sidecar = await start(scale, upstreamPort, data)
    await drive(load, { port: sidecar.port, connections: CONNECTIONS, requests, tasks: 1, ...NEW })
    await sidecar.process.end()
    return size()
  }
  const before = await run(operations / 10)
  return Math.round(((await run(operations)) - before) / operations)
}

function start({ main }: Scale, upstreamPort: number, data: string): Promise<Sidecar> {
  return startSidecar({ main, upstreamPort, data, config: { routes: ROUTES } })
}

function dataIn({ directory }: Scale): string {
  return path.join(fs.mkdtempSync(path.join(directory, 'once-')), 'data')
}
