/** One sidecar process before one resource, and what is needed to put inputs through it and to judge them. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Metrics } from '../support/metrics.ts'
import { until, within } from '../support/wait.ts'
import { Child, type Ended } from '../torture/processes.ts'
import { converse } from './client.ts'
import { type Input, tagged } from './input.ts'
import { Judge, type Line, type Run, type Violation } from './judge.ts'
import { FLOOR, ROUTES } from './rules.ts'
import { parseStream } from './strict.ts'
import { FuzzUpstream } from './upstream.ts'

const MAIN = path.join(import.meta.dirname, '../../src/main.ts')
const START_MS = 30_000
/** Of a process that has ended, for whoever looks into it. */
const LOG_LINES = 4
/** Inputs that are under way at once. */
const CONCURRENCY = 8
/** Batches whose requests may still reach the resource: clients that left do not wait for theirs. */
const REMEMBERED_BATCHES = 3
/** Connections to the resource: few, so that each carries requests of many clients. */
const UPSTREAM_CONNECTIONS = 4

export interface Numbered {
  readonly input: Input
  readonly index: number
}

export interface Outcome {
  readonly runs: readonly Run[]
  readonly violations: readonly Violation[]
}

export class Stage {
  readonly #directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-fuzz-'))
  readonly #log = path.join(this.#directory, 'sidecar.log')
  readonly #upstream: FuzzUpstream
  readonly #judge: Judge
  readonly #sidecar: Child
  readonly #listening = Promise.withResolvers<{ data: number; admin: number }>()
  #ended: Ended | undefined
  #runs = 0
  #remembered: (readonly Run[])[] = []

  /** @param main the program's file; `src/main.ts` if it isn't another build that is tried. */
  static async start(main: string = MAIN): Promise<Stage> {
    const stage = new Stage(await FuzzUpstream.start(), main)
    try {
      await within(stage.#listening.promise, 'a sidecar that listens', START_MS)
      return stage
    } catch (error) {
      await stage.close()
      throw error
    }
  }

  private constructor(upstream: FuzzUpstream, main: string) {
    this.#upstream = upstream
    this.#judge = new Judge(upstream.authority)
    const config = path.join(this.#directory, 'fencegate.yaml')
    fs.writeFileSync(config, JSON.stringify(this.#settings()))
    execFileSync(process.execPath, [main, 'init', '--config', config, '--floor', String(FLOOR)])
    this.#sidecar = new Child(main, ['serve', '--config', config], {
      logFile: this.#log,
      onLine: (line) => {
        const { msg, data, admin } = line.startsWith('{') ? JSON.parse(line) : {}
        if (msg === 'listening') this.#listening.resolve({ data: portOf(data), admin: portOf(admin) })
      },
    })
    void this.#sidecar.exited.then((ended) => {
      this.#ended = ended
    })
  }

  /** Whether it can take another batch. */
  get alive(): boolean {
    return this.#ended === undefined
  }

  /** Puts the inputs through, each under a name of its own, waits until all is quiet, and judges. */
  async run(inputs: readonly Numbered[]): Promise<Outcome> {
    const waiting = [...inputs]
    const runs: Run[] = []
    const lane = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) runs.push(await this.#play(next))
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, lane))
    const unrest = await this.#rest()
    this.#remembered = [runs, ...this.#remembered].slice(0, REMEMBERED_BATCHES)
    const { received, faults } = this.#upstream.take()
    return {
      runs,
      violations: [
        ...unrest,
        ...faults.map((message) => ({ rule: 'only requests reach the resource', message, run: undefined })),
        ...this.#judge.judge(this.#remembered.flat(), runs, received),
      ],
    }
  }

  async close(): Promise<void> {
    await this.#sidecar.end()
    await this.#upstream.close()
    fs.rmSync(this.#directory, { recursive: true, force: true })
  }

  async #play({ input, index }: Numbered): Promise<Run> {
    const name = (++this.#runs).toString(36).padStart(6, '0')
    const { data } = await this.#listening.promise
    const lines = input.connections.map(async (connection): Promise<Line> => {
      const bytes = tagged(connection.bytes, name)
      const stream = parseStream(bytes)
      return { stream, conversation: await converse(data, connection, bytes, stream), arrived: new Map() }
    })
    return { input, index, name, lines: await Promise.all(lines) }
  }

  /** Waits until nothing is under way; what stays so, or has ended, is a violation. */
  async #rest(): Promise<Violation[]> {
    const broken = (rule: string, message: string) => [{ rule, message, run: undefined }]
    const { admin } = await this.#listening.promise
    try {
      await this.#upstream.quiet()
      await until(async () => !this.alive || (await openWrites(admin)) === 0, 'fencegate_open_writes at 0')
    } catch (error) {
      if (this.alive) return broken('open writes return to 0', (error as Error).message)
    }
    if (this.alive) return []
    const log = fs.readFileSync(this.#log, 'utf8').trimEnd().split('\n')
    const last = log.slice(-LOG_LINES).join('\n')
    return broken('the process stays up', `it ended with ${JSON.stringify(this.#ended)}\n${last}`)
  }

  #settings() {
    return {
      listen: '127.0.0.1:0',
      admin: { listen: '127.0.0.1:0' },
      upstream: { url: `http://${this.#upstream.authority}`, connections: UPSTREAM_CONNECTIONS },
      store: { path: path.join(this.#directory, 'data'), create: 'never' },
      restartGrace: '0s',
      routes: ROUTES,
    }
  }
}

/** Undefined if nobody says it, as when the process is about to end. */
async function openWrites(admin: number): Promise<number | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${admin}/metrics`)
    return new Metrics(await response.text()).sum('fencegate_open_writes')
  } catch {
    return undefined
  }
}

const portOf = (address: string) => Number(/:(\d+)$/.exec(address)?.[1])
