/**
 * A real sidecar process for a test: `node src/main.ts serve` on free ports with a configuration file and a
 * data directory of its own. What a file has started ends with the file, by process id.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { stringify } from 'yaml'
import { Metrics } from './metrics.ts'
import { Changes, DEADLINE_MS, within } from './wait.ts'

const ROOT = path.join(import.meta.dirname, '../..')
const MAIN = path.join(ROOT, 'src/main.ts')
/** Halves the processor time of a start. */
const COMPILE_CACHE = path.join(ROOT, 'node_modules/.cache/node-compile')

/** As the configuration file has it. */
export interface Settings {
  readonly [key: string]: Setting
}
type Setting = string | number | boolean | readonly Setting[] | Settings

export interface SidecarOptions {
  /** Where requests go: the URL of the upstream. */
  readonly upstream: string
  /** Merged over the defaults below; lists are replaced. */
  readonly config?: Settings
  /** Modules that the process loads first, by absolute path. */
  readonly preload?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** One line of the log. */
export interface LogLine {
  readonly level: string | number
  readonly msg: string
  readonly [field: string]: unknown
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const directories: string[] = []
const running = new Set<ChildProcess>()

/** Ends what a test file has started. Called after each by `end-sidecars.ts`, a setup file of the projects that start any. */
export async function endAll(): Promise<void> {
  const ends = [...running].map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(ends)
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true })
}

// A file that fails before its first test runs no hooks: its process is ended by SIGTERM.
process.once('SIGTERM', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true })
  process.exit()
})

/** A directory that goes away with the test file. */
export function temporaryDirectory(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-http-'))
  directories.push(directory)
  return directory
}

/** A process that was asked to serve, ready or not. */
export class SidecarProcess {
  readonly logs: LogLine[] = []
  /** All that it wrote, on both streams. */
  output = ''
  stderr = ''
  readonly changes = new Changes()
  readonly exited: Promise<Ended>
  readonly #child: ChildProcess
  #ended: Ended | undefined

  constructor(args: readonly string[], options: Pick<SidecarOptions, 'preload' | 'env'> = {}) {
    const imports = (options.preload ?? []).map((file) => `--import=${file}`)
    this.#child = spawn(process.execPath, [...imports, MAIN, 'serve', ...args], {
      // Nothing of the caller's environment reaches the configuration.
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(this.#child)
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        running.delete(this.#child)
        this.#ended = { code, signal }
        this.changes.notify()
        resolve(this.#ended)
      })
    })
    this.#collect()
  }

  get pid(): number {
    return this.#child.pid as number
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** The exit code; rejects if it is still running after `ms` milliseconds. */
  async exitCode(ms = DEADLINE_MS): Promise<number | null> {
    return (await within(this.exited, 'the end of the sidecar', ms)).code
  }

  /** Resolves with the first line that `accept` takes, past or future. */
  async log(accept: (line: LogLine) => boolean, what: string, ms = DEADLINE_MS): Promise<LogLine> {
    const find = () => this.logs.find(accept)
    await this.changes.when(() => find() !== undefined || this.#ended !== undefined, what, ms)
    const line = find()
    if (!line) throw new Error(`the sidecar ended with ${this.#ended?.code} before ${what}\n${this.output}`)
    return line
  }

  #collect(): void {
    let rest = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
      const lines = (rest + text).split('\n')
      rest = lines.pop() as string
      for (const line of lines) if (line.startsWith('{')) this.logs.push(JSON.parse(line) as LogLine)
      this.changes.notify()
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
      this.stderr += text
    })
  }
}

/** Starts `serve` with a configuration, without waiting for it to listen. */
export function serve(
  config: Settings,
  options: Pick<SidecarOptions, 'preload' | 'env'> = {},
  file = path.join(temporaryDirectory(), 'fencegate.yaml'),
): SidecarProcess {
  fs.writeFileSync(file, stringify(config))
  return new SidecarProcess(['--config', file], options)
}

/** The whole configuration for a sidecar before `upstream`, with its store in `data`. */
export function settings(upstream: string, data: string, config: Settings = {}): Settings {
  const defaults: Settings = {
    listen: '127.0.0.1:0',
    admin: { listen: '127.0.0.1:0' },
    upstream: { url: upstream },
    store: { path: data },
    shutdown: { delay: '0s', deadline: '5s' },
    restartGrace: '300ms',
  }
  return merge(defaults, config)
}

function merge(under: Settings, over: Settings): Settings {
  const merged: Record<string, Setting> = { ...under }
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isSettings(below) && isSettings(value) ? merge(below, value) : value
  }
  return merged
}

function isSettings(value: Setting | undefined): value is Settings {
  return typeof value === 'object' && !Array.isArray(value)
}

export class Sidecar {
  readonly process: SidecarProcess
  /** Port that carries traffic. */
  readonly port: number
  readonly adminPort: number
  /** The data directory. */
  readonly data: string
  /** The configuration file, in a directory of its own. */
  readonly file: string
  readonly #options: SidecarOptions

  private constructor(
    process: SidecarProcess,
    listening: LogLine,
    paths: { data: string; file: string },
    options: SidecarOptions,
  ) {
    this.process = process
    this.port = portOf(listening.data)
    this.adminPort = portOf(listening.admin)
    this.data = paths.data
    this.file = paths.file
    this.#options = options
  }

  /** Starts a sidecar and waits until both ports answer. */
  static async start(options: SidecarOptions, data = temporaryDirectory()): Promise<Sidecar> {
    const file = path.join(temporaryDirectory(), 'fencegate.yaml')
    const process = serve(settings(options.upstream, data, options.config), options, file)
    const listening = await process.log(({ msg }) => msg === 'listening', 'the line "listening"', 20_000)
    return new Sidecar(process, listening, { data, file }, options)
  }

  get logs(): readonly LogLine[] {
    return this.process.logs
  }

  /** Writes its configuration anew: this, over what it was started with. */
  configure(config: Settings = {}): void {
    const { upstream, config: first = {} } = this.#options
    fs.writeFileSync(this.file, stringify(settings(upstream, this.data, merge(first, config))))
  }

  /** The lines that say what came of a reload, in order. */
  get reloads(): readonly LogLine[] {
    return this.logs.filter(({ cause }) => cause !== undefined)
  }

  /** Has it read its configuration again, and gives the line that says what came of it. */
  async reload(config?: Settings): Promise<LogLine> {
    if (config) this.configure(config)
    const before = this.reloads.length
    this.process.signal('SIGHUP')
    await this.process.changes.when(() => this.reloads.length > before, 'the end of a reload')
    return this.reloads[before] as LogLine
  }

  /** Ends it in an orderly way and gives the exit code. */
  stop(): Promise<number | null> {
    this.process.signal('SIGTERM')
    return this.process.exitCode()
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    this.process.signal('SIGKILL')
    await this.process.exitCode()
  }

  /** A new process on the store of this one, which must have ended. */
  restart(config: Settings = {}): Promise<Sidecar> {
    return Sidecar.start({ ...this.#options, config: merge(this.#options.config ?? {}, config) }, this.data)
  }

  admin(target: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.adminPort}${target}`)
  }

  async metrics(): Promise<Metrics> {
    return new Metrics(await (await this.admin('/metrics')).text())
  }
}

function portOf(address: unknown): number {
  const port = Number(/:(\d+)$/.exec(String(address))?.[1])
  if (!port) throw new Error(`the line "listening" names no port: ${address}`)
  return port
}
