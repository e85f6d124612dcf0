/** The processes of a benchmark, and what they cost: CPU of all threads and resident memory, as Linux counts them. */
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'

const ROOT = path.join(import.meta.dirname, '../..')
/** Of /proc: USER_HZ, which is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100
const START_MS = 120_000

const running = new Set<BenchProcess>()

/** Of all threads of a process. */
export interface Cpu {
  readonly userSeconds: number
  /** In the kernel: on a proxy, mostly reading and writing sockets. */
  readonly systemSeconds: number
}

export class BenchProcess {
  readonly child: ChildProcess

  constructor(child: ChildProcess) {
    this.child = child
    running.add(this)
    child.once('exit', () => running.delete(this))
  }

  /** CPU time so far. */
  get cpu(): Cpu {
    const stat = fs.readFileSync(`/proc/${this.child.pid}/stat`, 'utf8')
    // The second field is the name, in parentheses, and may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const seconds = (ticks: string | undefined) => Number(ticks) / TICKS_PER_SECOND
    return { userSeconds: seconds(fields[11]), systemSeconds: seconds(fields[12]) }
  }

  get residentBytes(): number {
    const status = fs.readFileSync(`/proc/${this.child.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exit = once(this.child, 'exit')
    this.child.kill(signal)
    await exit
  }
}

/** Ends what is left, after a failure too. */
export async function endAll(): Promise<void> {
  await Promise.all([...running].map((process) => process.end('SIGKILL')))
}

/** One of this folder's scripts in a process of its own. */
export function startScript(file: string, args: readonly string[] = []): BenchProcess {
  return new BenchProcess(fork(path.join(import.meta.dirname, file), args, { execArgv: [] }))
}

/** Starts a script that listens; resolves with the port that it reports. */
export async function startServer(
  file: string,
  args: readonly string[] = [],
): Promise<{ process: BenchProcess; port: number }> {
  const process = startScript(file, args)
  return { process, port: (await reply(process)) as number }
}

/** The next message of a script. */
export function reply({ child }: BenchProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const exited = () => reject(new Error('a process of the benchmark ended before it was told to'))
    child.once('exit', exited)
    child.once('message', (message) => {
      child.off('exit', exited)
      resolve(message)
    })
  })
}

/** Builds what users run, so that no time or memory of the TypeScript loader is measured. Gives its entry point. */
export function build(directory: string): string {
  const app = path.join(directory, 'app')
  fs.mkdirSync(app)
  fs.copyFileSync(path.join(ROOT, 'package.json'), path.join(app, 'package.json'))
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(app, 'node_modules'))
  const tsc = path.join(ROOT, 'node_modules/.bin/tsc')
  execFileSync(tsc, ['-p', path.join(ROOT, 'src/tsconfig.json'), '--outDir', path.join(app, 'dist')], {
    stdio: ['ignore', process.stderr, process.stderr],
  })
  return path.join(app, 'dist/main.js')
}

export interface SidecarOptions {
  /** Its entry point, from `build`. */
  readonly main: string
  readonly upstreamPort: number
  /** The data directory; its parent takes the configuration file. */
  readonly data: string
  readonly nodeArgs?: readonly string[]
  /** Configuration besides the default settings. */
  readonly config?: object
}

export interface Sidecar {
  readonly process: BenchProcess
  readonly port: number
  readonly adminPort: number
  /** Milliseconds from the spawn until `/readyz` said 200. */
  readonly readyMs: number
}

/** `fencegate serve` with default settings, on free ports. */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { main, upstreamPort, data, nodeArgs = [], config: more = {} } = options
  const file = path.join(path.dirname(data), 'fencegate.yaml')
  const config = {
    listen: '127.0.0.1:0',
    admin: { listen: '127.0.0.1:0' },
    upstream: { url: `http://127.0.0.1:${upstreamPort}` },
    store: { path: data },
    shutdown: { delay: '0s' },
    restartGrace: '0s',
    ...more,
  }
  fs.writeFileSync(file, JSON.stringify(config))
  const spawned = performance.now()
  const child = spawn(process.execPath, [...nodeArgs, main, 'serve', '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const sidecar = new BenchProcess(child)
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  for await (const [line] of on(lines, 'line', { close: ['close'], signal: AbortSignal.timeout(START_MS) })) {
    const { msg, data: address, admin } = JSON.parse(line)
    if (msg !== 'listening') continue
    const ready = await fetch(`http://${admin}/readyz`)
    if (!ready.ok) throw new Error(`/readyz answered ${ready.status}`)
    const portOf = (authority: string) => Number(authority.split(':')[1])
    const readyMs = performance.now() - spawned
    return { process: sidecar, port: portOf(address), adminPort: portOf(admin), readyMs }
  }
  throw new Error('the sidecar ended before it listened')
}
