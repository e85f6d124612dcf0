/**
 * The sidecar under torture: kept running on one data directory. However it ends it is started again, and each end
 * is noted for the history.
 */
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { stringify } from 'yaml'
import type { Stop } from '../support/history.ts'
import { now } from '../support/history-log.ts'
import { Metrics } from '../support/metrics.ts'
import { until, within } from '../support/wait.ts'
import { Child, type Ended, fileOf } from './processes.ts'

const START_MS = 30_000
const CLOCK_ERROR_MS = 5

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface SidecarParts {
  /** For its configuration, log and store. */
  readonly directory: string
  readonly config: object
  /** The program's file; `src/main.ts`, unless a broken build is tried. */
  readonly main: string
  readonly env: Readonly<Record<string, string>>
  readonly wallClockIsFaked: boolean
  /** Called with the data port of each new process, once it listens. */
  readonly onListening: (port: number) => void
}

interface Listening {
  readonly data: number
  readonly admin: number
}

export class Sidecar {
  readonly stops: Mutable<Stop>[] = []
  readonly storeFaults: { from: number; until: number }[] = []
  /** Ends that nobody asked for, and no store fault explains. */
  readonly crashes: string[] = []
  readonly #parts: SidecarParts
  readonly #control: string
  #child!: Child
  #listening = Promise.withResolvers<Listening>()
  /** The signals that its process was sent. */
  #asked: { signal: 'SIGKILL' | 'SIGTERM'; at: number; downMs: number }[] = []
  #cleanStop = false
  #closing = false
  /** False from when a process is asked to end, or does, until the next one listens. */
  runs = false

  constructor(parts: SidecarParts) {
    this.#parts = parts
    this.#control = path.join(parts.directory, 'store-order')
    fs.writeFileSync(this.#control, 'ok')
    fs.writeFileSync(path.join(parts.directory, 'fencegate.yaml'), stringify(parts.config))
    this.#start()
  }

  get child(): Child {
    return this.#child
  }

  /** The ports of the process that runs, or of the next one. */
  listening(): Promise<Listening> {
    return within(this.#listening.promise, 'a sidecar that listens', START_MS)
  }

  /** Ends it; a new process follows after `downMs`. */
  stop(signal: 'SIGKILL' | 'SIGTERM', downMs: number): void {
    this.#asked.push({ signal, at: now(), downMs })
    this.#leaves()
    this.#child.signal(signal)
  }

  /** How commits run from now on: see `sidecar-hook.ts`. */
  orderStore(order: string): void {
    const open = this.storeFaults.at(-1)
    if (open?.until === Number.POSITIVE_INFINITY) open.until = now()
    if (order !== 'ok') this.storeFaults.push({ from: now(), until: Number.POSITIVE_INFINITY })
    const draft = `${this.#control}.new`
    fs.writeFileSync(draft, order)
    fs.renameSync(draft, this.#control)
  }

  async hasOpenWrites(): Promise<boolean> {
    return ((await this.#openWrites()) ?? 0) > 0
  }

  /** Undefined if no sidecar says it now. */
  async #openWrites(): Promise<number | undefined> {
    const { admin } = await this.listening()
    try {
      const response = await fetch(`http://127.0.0.1:${admin}/metrics`, { signal: AbortSignal.timeout(2000) })
      return new Metrics(await response.text()).sum('fencegate_open_writes')
    } catch {
      return undefined
    }
  }

  /** Resolves once a process serves and has no write open. */
  async quiet(ms: number): Promise<void> {
    let open: number | undefined
    await until(
      async () => {
        open = await this.#openWrites()
        return open === 0
      },
      'fencegate_open_writes at 0 in a sidecar that serves',
      ms,
    ).catch((error: Error) => {
      throw new Error(`${error.message}; it is ${open ?? 'not to be had'}`)
    })
  }

  /** One request to the control socket; undefined if no sidecar was there to answer it. */
  control(method: 'GET' | 'POST', target: string, body?: object): Promise<ControlAnswer | undefined> {
    const socketPath = path.join(this.#parts.directory, 'data', 'control.sock')
    const headers = body ? { 'content-type': 'application/json' } : {}
    return new Promise((resolve) => {
      const options = { socketPath, method, path: target, headers, timeout: 3000 }
      const request = http.request(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk)).on('error', () => resolve(undefined))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode as number, body: JSON.parse(text) })
        })
      })
      request.on('timeout', () => request.destroy()).on('error', () => resolve(undefined))
      request.on('close', () => resolve(undefined))
      request.end(body && JSON.stringify(body))
    })
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#child.end()
  }

  #start(): void {
    const { directory, main, env, onListening } = this.#parts
    this.#asked = []
    this.#cleanStop = false
    const args = ['serve', '--config', path.join(directory, 'fencegate.yaml')]
    this.#child = new Child(main, args, {
      logFile: path.join(directory, 'sidecar.log'),
      imports: [fileOf('sidecar-hook.ts')],
      env: { ...env, TORTURE_STORE_FILE: this.#control },
      onLine: (line) => {
        const { msg, time, data, admin, clean } = line.startsWith('{') ? JSON.parse(line) : {}
        if (msg?.startsWith('the last stop was unclean')) this.#graceBegins(time)
        if (msg === 'stopped') this.#cleanStop = clean
        if (msg !== 'listening' || this.#asked.length > 0) return
        const ports = { data: portOf(data), admin: portOf(admin) }
        onListening(ports.data)
        this.runs = true
        this.#listening.resolve(ports)
      },
    })
    void this.#child.exited.then((ended) => this.#again(ended))
  }

  /** From now on `listening` means the next process. */
  #leaves(): void {
    if (this.runs) this.#listening = Promise.withResolvers()
    this.runs = false
  }

  /** It says so just before; a start takes long enough on a busy machine to hide most of a grace. */
  #graceBegins(wallMs: number): void {
    const stop = this.stops.at(-1)
    if (!stop || this.#parts.wallClockIsFaked) return
    stop.graceFrom = Math.max(stop.restarted, wallMs - (Date.now() - now()) - CLOCK_ERROR_MS)
  }

  #explained({ code, signal }: Ended, at: number): boolean {
    if (code === 69) return this.storeFaults.some((fault) => fault.until > at - 1000)
    // A second signal ends it at once.
    if (code === 1) return this.#asked.length > 1
    return this.#asked.length > 0 && (code === 0 || signal !== null)
  }

  async #again(ended: Ended): Promise<void> {
    if (this.#closing) return
    const until = now()
    this.#leaves()
    const [first] = this.#asked
    const from = first?.at ?? until
    const how = ended.code !== 0 ? 'killed' : this.#cleanStop ? 'clean' : 'cut'
    if (!this.#explained(ended, until))
      this.crashes.push(`the sidecar ended unasked: code ${ended.code}, signal ${ended.signal}`)
    const downMs = first?.downMs ?? 0
    await new Promise((resolve) => setTimeout(resolve, downMs))
    if (this.#closing) return
    const restarted = now()
    this.stops.push({ from, until, how, restarted, graceFrom: restarted })
    this.#start()
  }
}

export interface ControlAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: JSON of several shapes, each read in one place
  readonly body: any
}

const portOf = (address: string) => Number(/:(\d+)$/.exec(address)?.[1])
