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

interface Target {
  readonly sidecar: Sidecar
  readonly connections: number
  /** Of memory: once it listened, and with its connections open. */
  readonly bytesBefore: number
  readonly bytes: number
  readonly rounds: Round[]
}

interface Round {
  /** Of a write, one at a time. */
  readonly microseconds: number
  /** With 64 at a time. */
  readonly perSecond: number
}

export async function idle(scale: Scale): Promise<Section> {
  const upstream = await startServer('upstream.ts')
  const load = startScript('load.ts')
  const clients: BenchProcess[] = []
  const targets: Target[] = []
  for (const wanted of [0, scale.quick ? 1000 : 10_000]) {
    const sidecar = await start(upstream.port, scale)
    const connections = Math.min(wanted, openFiles(sidecar) - OTHER_FILES)
    const bytesBefore = sidecar.process.residentBytes
    clients.push(...(await connect(sidecar, connections)))
    targets.push({ sidecar, connections, bytesBefore, bytes: sidecar.process.residentBytes, rounds: [] })
  }
  const [rounds, requests] = scale.quick ? [3, 500] : [9, 3000]
  for (const target of targets) await round(load, target, requests)
  for (let i = 0; i < rounds; i++) {
    for (const target of targets) target.rounds.push(await round(load, target, requests))
  }
  for (const process of [load, ...clients, ...targets.map(({ sidecar }) => sidecar.process)])
    await process.end()
  await upstream.process.end()
  return {
    name: 'idle',
    title: 'Idle client connections, each after one write, and what they cost other writes',
    rows: targets.map((target) => row(target, targets[0] as Target)),
    notes: [
      'KiB each: from a sidecar that has just started, so that all which a first write loads is in it',
      `medians of ${rounds} rounds, both sidecars in turn; ratios are medians over rounds, to no idle connections`,
    ],
  }
}

function row({ connections, bytesBefore, bytes, rounds }: Target, none: Target) {
  const ratio = (of: (one: Round) => number) =>
    twoDigits(median(rounds.map((own, i) => of(own) / of(none.rounds[i] as Round))))
  return {
    'idle connections': connections,
    'RSS MiB': Math.round(bytes / MEBI),
    'KiB each': connections === 0 ? '' : twoDigits((bytes - bytesBefore) / connections / 1024),
    'µs/write': Math.round(median(rounds.map(({ microseconds }) => microseconds))),
    ratio: ratio(({ microseconds }) => microseconds),
    'writes/s, 64 at a time': Math.round(median(rounds.map(({ perSecond }) => perSecond))),
    'their ratio': ratio(({ perSecond }) => perSecond),
  }
}

function start(upstreamPort: number, { directory, main }: Scale): Promise<Sidecar> {
  const data = path.join(fs.mkdtempSync(path.join(directory, 'idle-')), 'data')
  const config = { limits: { connections: 20_000, idleTimeout: '1h' } }
  return startSidecar({ main, upstreamPort, data, config })
}

async function round(load: BenchProcess, { sidecar }: Target, requests: number): Promise<Round> {
  const { port } = sidecar
  const alone = await drive(load, { port, connections: 1, requests, tasks: 1 })
  const many = await drive(load, { port, connections: 64, requests: requests * 2, tasks: 1 })
  return { microseconds: (alone.seconds / requests) * 1e6, perSecond: (requests * 2) / many.seconds }
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
