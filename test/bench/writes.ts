/**
 * What a fenced write costs: the sidecar, @fastify/http-proxy without fencing and the bare resource in turn,
 * in one run, so that what else the machine does falls on all of them.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Load, LoadResult } from './load.ts'
import { type BenchProcess, reply, startScript, startServer, startSidecar } from './processes.ts'
import { selfTimes } from './profile.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'

const CONNECTIONS = 64

interface Target {
  readonly name: string
  readonly port: number
  readonly process: BenchProcess | undefined
}

interface Round {
  readonly perSecond: number
  /** Of the target's process; undefined for the bare resource. */
  readonly cpu: { readonly microseconds: number; readonly system: number } | undefined
}

export async function fencedWrites(scale: Scale): Promise<Section> {
  const requests = scale.quick ? 3000 : 30_000
  const rounds = scale.quick ? 3 : 7
  const upstream = await startServer('upstream.ts')
  const plain = await startServer('plain-proxy.ts', [String(upstream.port)])
  const { main, directory } = scale
  const sidecar = await startSidecar({ main, upstreamPort: upstream.port, data: dataIn(directory) })
  const targets: Target[] = [
    { name: 'fencegate', port: sidecar.port, process: sidecar.process },
    { name: '@fastify/http-proxy', port: plain.port, process: plain.process },
    { name: 'direct', port: upstream.port, process: undefined },
  ]
  const load = startScript('load.ts')
  const results = new Map<string, Round[]>(targets.map(({ name }) => [name, []]))
  for (const target of targets) await round(load, target, requests)
  for (let i = 0; i < rounds; i++) {
    for (const target of targets) results.get(target.name)?.push(await round(load, target, requests))
  }
  for (const process of [load, sidecar.process, plain.process, upstream.process]) await process.end()
  return {
    name: 'writes',
    title: `Fenced writes: JSON POST of about 200 bytes, one task and token, ${CONNECTIONS} connections`,
    rows: targets.map(({ name }) => row(name, results)),
    notes: [
      `medians of ${rounds} rounds of ${requests} requests each, targets in turn after a warm-up`,
      'ratios are medians over rounds, to @fastify/http-proxy in the same round',
    ],
  }
}

function row(name: string, results: ReadonlyMap<string, readonly Round[]>) {
  const own = results.get(name) as readonly Round[]
  const plain = results.get('@fastify/http-proxy') as readonly Round[]
  const ratio = (of: (round: Round) => number) =>
    twoDigits(median(own.map((round, i) => of(round) / of(plain[i] as Round))))
  const measured = own[0]?.cpu !== undefined
  const microseconds = ({ cpu }: Round) => cpu?.microseconds ?? 0
  return {
    target: name,
    'requests/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
    ratio: ratio(({ perSecond }) => perSecond),
    'CPU µs/request': measured ? Math.round(median(own.map(microseconds))) : '',
    'of it in the kernel': measured ? Math.round(median(own.map(({ cpu }) => cpu?.system ?? 0))) : '',
    'CPU ratio': measured ? ratio(microseconds) : '',
  }
}

async function round(load: BenchProcess, { port, process }: Target, requests: number): Promise<Round> {
  const before = process?.cpu
  const { seconds } = await drive(load, { port, connections: CONNECTIONS, requests, tasks: 1 })
  const perSecond = requests / seconds
  if (!process || !before) return { perSecond, cpu: undefined }
  const { userSeconds, systemSeconds } = process.cpu
  const system = ((systemSeconds - before.systemSeconds) * 1e6) / requests
  const user = ((userSeconds - before.userSeconds) * 1e6) / requests
  return { perSecond, cpu: { microseconds: user + system, system } }
}

/** Has the load generator do one run. */
export async function drive(generator: BenchProcess, load: Load): Promise<LoadResult> {
  generator.child.send(load)
  const result = (await reply(generator)) as LoadResult
  if (result.failure !== undefined) throw new Error(`load: ${result.failure}`)
  return result
}

/** Where the sidecar's time goes during the same writes, in a process that isn't measured otherwise. */
export async function profileWrites(scale: Scale): Promise<Section[]> {
  const requests = scale.quick ? 5000 : 60_000
  const directory = fs.mkdtempSync(path.join(scale.directory, 'profile-'))
  const upstream = await startServer('upstream.ts')
  const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${directory}`]
  const { main } = scale
  const data = dataIn(directory)
  const sidecar = await startSidecar({ main, upstreamPort: upstream.port, data, nodeArgs })
  const ready = performance.now()
  const load = startScript('load.ts')
  const run = { port: sidecar.port, connections: CONNECTIONS, requests, tasks: 1 }
  await drive(load, { ...run, requests: requests / 5 })
  const warmMs = sidecar.readyMs + (performance.now() - ready)
  await drive(load, run)
  for (const process of [load, sidecar.process, upstream.process]) await process.end()
  const { functions, places } = selfTimes(directory, warmMs)
  return [
    { name: 'profile', title: 'Where the event loop spends its time, by place', rows: places, notes: [] },
    { name: 'functions', title: 'The functions that take most of it themselves', rows: functions, notes: [] },
  ]
}

function dataIn(directory: string): string {
  return path.join(fs.mkdtempSync(path.join(directory, 'writes-')), 'data')
}
