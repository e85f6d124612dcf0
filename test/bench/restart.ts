/**
 * For how long no write succeeds while a sidecar is restarted on its store, under bounded load: clients write on at their
 * pace, on a fixed port, and try again until they succeed. The successor starts when its predecessor has ended, as beside
 * a supervisor that waits for nothing.
 */
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { fill } from './memory.ts'
import { reply, type Sidecar, startScript, startServer, startSidecar } from './processes.ts'
import { median, type Scale, type Section } from './report.ts'
import type { RestartLoad, RestartResult } from './restart-load.ts'

const TASKS = 100_000
const CLIENTS = 20
const PACE_MS = 50

interface Kind {
  readonly name: string
  readonly signal: 'SIGTERM' | 'SIGKILL'
  readonly rising: boolean
  readonly config: object
}

const INTENTS = [{ name: 'all', intent: 'durable', match: {} }]

const KINDS: readonly Kind[] = [
  { name: 'SIGTERM, holders go on', signal: 'SIGTERM', rising: false, config: {} },
  { name: 'SIGTERM, delay 3s', signal: 'SIGTERM', rising: false, config: { shutdown: { delay: '3s' } } },
  { name: 'SIGKILL, holders go on', signal: 'SIGKILL', rising: false, config: { restartGrace: '30s' } },
  {
    name: 'SIGKILL, new holders, intents',
    signal: 'SIGKILL',
    rising: true,
    // So long that it would show if it were waited out.
    config: { routes: INTENTS, restartGrace: '30s' },
  },
  { name: 'SIGKILL, new holders, grace 5s', signal: 'SIGKILL', rising: true, config: { restartGrace: '5s' } },
]

interface Run extends RestartResult {
  /** From the signal until the process had ended. */
  readonly stopMs: number
  readonly readyMs: number
  /** Processor time of the successor until then, of all its threads. */
  readonly startCpuMs: number
}

export async function restarts(scale: Scale): Promise<Section> {
  const runs = scale.quick ? 2 : 5
  const template = path.join(fs.mkdtempSync(path.join(scale.directory, 'restart-')), 'data')
  fill(template, TASKS)
  const upstream = await startServer('upstream.ts')
  const results = new Map<string, Run[]>(KINDS.map(({ name }) => [name, []]))
  for (let i = 0; i < runs; i++) {
    for (const kind of KINDS) results.get(kind.name)?.push(await run(kind, scale, template, upstream.port))
  }
  await upstream.process.end()
  return {
    name: 'restart',
    title: `A restart: ${CLIENTS} clients, a write every ${PACE_MS} ms each, a store of ${TASKS} tasks`,
    rows: KINDS.map(({ name }) => row(name, results.get(name) as Run[])),
    notes: [
      `${runs} runs of each, kinds in turn; the shutdown delay is 0s unless it is named`,
      'outage: the longest time in which no write succeeded; slowest: of one write, from its first attempt',
      'stop: from the signal to the end; ready: from the spawn, with the processor time that it took; attempts: sums',
    ],
  }
}

function row(name: string, runs: readonly Run[]) {
  const middle = (of: (run: Run) => number) => Math.round(median(runs.map(of)))
  const most = (of: (run: Run) => number) => Math.round(Math.max(...runs.map(of)))
  const sum = (of: (run: Run) => number) => runs.reduce((total, run) => total + of(run), 0)
  return {
    restart: name,
    'outage ms': middle(({ outageMs }) => outageMs),
    worst: most(({ outageMs }) => outageMs),
    'slowest write ms': most(({ slowestMs }) => slowestMs),
    'stop ms': middle(({ stopMs }) => stopMs),
    'ready ms': middle(({ readyMs }) => readyMs),
    'CPU ms': middle(({ startCpuMs }) => startCpuMs),
    written: sum(({ written }) => written),
    refused: sum(({ refused }) => refused),
    '502/503': sum(({ unavailable }) => unavailable),
    cut: sum(({ cut }) => cut),
  }
}

async function run(
  kind: Kind,
  { directory, main }: Scale,
  template: string,
  upstreamPort: number,
): Promise<Run> {
  const data = path.join(fs.mkdtempSync(path.join(directory, 'restart-')), 'data')
  fs.cpSync(template, data, { recursive: true })
  const port = await freePort()
  const start = (): Promise<Sidecar> =>
    startSidecar({ main, upstreamPort, data, config: { listen: `127.0.0.1:${port}`, ...kind.config } })
  const before = await start()
  const load = startScript('restart-load.ts')
  load.child.send({ port, clients: CLIENTS, paceMs: PACE_MS, rising: kind.rising } satisfies RestartLoad)
  await reply(load)
  const signalled = performance.now()
  await before.process.end(kind.signal)
  const stopMs = performance.now() - signalled
  const after = await start()
  const { userSeconds, systemSeconds } = after.process.cpu
  const ended = reply(load)
  load.child.send('stop')
  const result = (await ended) as RestartResult
  await after.process.end()
  await load.end()
  fs.rmSync(path.dirname(data), { recursive: true })
  return { ...result, stopMs, readyMs: after.readyMs, startCpuMs: (userSeconds + systemSeconds) * 1000 }
}

/** Free for now: both sidecars of a run must listen on the same one. */
async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
