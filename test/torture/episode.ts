/**
 * One cast of processes on one store: relay, resource, sidecar and workers. A round does its steps to them while
 * the workers write; then everything comes to rest, and the history so far is complete.
 */
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { History } from '../support/history.ts'
import {
  askedFrom,
  type ClientLine,
  now,
  type ResourceLine,
  readLines,
  seenFrom,
} from '../support/history-log.ts'
import { until, within } from '../support/wait.ts'
import { Authority } from './authority.ts'
import { Client } from './client.ts'
import type { Clocks } from './clocks.ts'
import { type Settings, settingsFor, TASKS, UNKNOWN_STATUSES, type Variant } from './limits.ts'
import { Operator } from './operator.ts'
import { Child, fileOf } from './processes.ts'
import { randomFor } from './random.ts'
import type { RelayOrder, RelayReady } from './relay.ts'
import { type Action, ROUND_MS, type Step } from './schedule.ts'
import { Sidecar } from './sidecar.ts'
import type { WorkerMessage } from './worker.ts'

export const WORKERS = ['w1', 'w2', 'w3']
const AIM_MS = 200
const AFTER_RESTART_MS = 1000
const REST_MS = 15_000
/** What only a quiet machine would keep to; a sidecar that serves lets a new holder in by then. */
const PROGRESS_MS = 10_000

export interface EpisodeOptions {
  readonly seed: number
  readonly variant: Variant
  readonly directory: string
  readonly main: string
  readonly clocks: Clocks | undefined
}

interface Worker {
  readonly child: Child
  paused: PromiseWithResolvers<void>
}

export class Episode {
  readonly #options: EpisodeOptions
  readonly #settings: Settings
  readonly #relay: Child
  readonly #resource: Child
  readonly #ports: RelayReady['ready']
  readonly #authority: Authority
  readonly #prober: Client
  readonly #workers = new Map<string, Worker>()
  readonly sidecar: Sidecar
  readonly operator: Operator
  /** What is wrong with the run rather than with the sidecar. */
  readonly faults: string[] = []
  workerKills = 0
  #incarnations = 0
  #clocksAskedMs = 0
  #resting = true

  static async start(options: EpisodeOptions): Promise<Episode> {
    const { directory, seed } = options
    fs.mkdirSync(directory, { recursive: true })
    const relayReady = Promise.withResolvers<RelayReady>()
    const relay = new Child(fileOf('relay.ts'), [], {
      logFile: path.join(directory, 'relay.log'),
      onMessage: (message) => relayReady.resolve(message as RelayReady),
    })
    const resourceReady = Promise.withResolvers<{ port: number }>()
    const resource = new Child(
      fileOf('resource.ts'),
      [path.join(directory, 'resource.jsonl'), String(seed)],
      {
        logFile: path.join(directory, 'resource.log'),
        env: options.clocks?.envOf('resource') ?? {},
        onMessage: (message) => resourceReady.resolve(message as { port: number }),
      },
    )
    const { ready } = await within(relayReady.promise, 'a relay that listens')
    const { port } = await within(resourceReady.promise, 'a resource that listens')
    relay.send({ order: 'target', path: 'back', port } satisfies RelayOrder)
    const episode = new Episode(options, relay, resource, ready)
    const { data } = await episode.sidecar.listening()
    episode.#prober.port = data
    const workers = WORKERS.map((name) => episode.#startWorker(name))
    await within(Promise.all(workers.map(({ paused }) => paused.promise)), 'workers that are ready')
    return episode
  }

  private constructor(options: EpisodeOptions, relay: Child, resource: Child, ports: RelayReady['ready']) {
    const { directory, main, seed, variant, clocks } = options
    this.#options = options
    this.#relay = relay
    this.#resource = resource
    this.#ports = ports
    this.#authority = new Authority(randomFor(seed, 'authority'))
    this.#settings = settingsFor(variant, ports.back, path.join(directory, 'data'))
    this.#prober = new Client('probe', path.join(directory, 'client-probe.jsonl'))
    this.sidecar = new Sidecar({
      directory,
      main,
      config: this.#settings.config,
      env: clocks?.envOf('sidecar') ?? {},
      wallClockIsFaked: clocks !== undefined,
      onListening: (port) => {
        this.#prober.port = port
        relay.send({ order: 'target', path: 'front', port } satisfies RelayOrder)
      },
    })
    this.operator = new Operator(this.sidecar)
  }

  /** Does the steps while the workers write, and undoes what lasts. */
  async round(steps: readonly Step[]): Promise<void> {
    this.#resting = false
    const stops = this.sidecar.stops.length
    for (const { child } of this.#workers.values()) child.send({ order: 'go' })
    const resolving = this.#resolveHeld()
    await Promise.all([
      sleep(ROUND_MS),
      ...steps.map(async ({ atMs, action }) => {
        await sleep(atMs)
        await this.#do(action)
      }),
    ])
    // What a restart forgot shows in what is let in just after it.
    if (this.sidecar.stops.length > stops || !this.sidecar.runs) {
      await this.sidecar.listening()
      await sleep(AFTER_RESTART_MS)
    }
    this.#resting = true
    await resolving
  }

  /**
   * Waits until no write is open, then looks at what should still be true: what was frozen is, what was a mark is,
   * what is on record is, and a new holder is let in.
   */
  async rest(): Promise<void> {
    await Promise.all([...this.#workers].map(([name, worker]) => this.#pause(name, worker)))
    await this.sidecar.quiet(REST_MS)
    await Promise.all(Object.keys(TASKS).map((task) => this.#probeStale(task)))
    for (const task of this.operator.frozen)
      await until(() => this.operator.thaw(task, undefined), `${task} thawed`, REST_MS)
    await Promise.all(Object.keys(TASKS).map((task) => this.#probeStale(task)))
    await this.#resolveAll()
    await Promise.all(Object.keys(TASKS).map((task) => this.#probeProgress(task)))
    await this.sidecar.quiet(REST_MS)
    await this.operator.list()
    await this.#readClocks()
  }

  history(): History {
    const { directory } = this.#options
    const logs = fs.readdirSync(directory).filter((name) => name.startsWith('client-'))
    const asked = logs.flatMap((name) => readLines<ClientLine>(path.join(directory, name)))
    return {
      asked: askedFrom(asked),
      seen: seenFrom(readLines<ResourceLine>(path.join(directory, 'resource.jsonl'))),
      listings: this.operator.listings,
      acts: this.operator.acts,
      stops: this.sidecar.stops,
      storeFaults: this.sidecar.storeFaults,
      routes: this.#settings.routes,
      graceMs: this.#settings.graceMs,
      unknownStatuses: UNKNOWN_STATUSES,
    }
  }

  async close(): Promise<void> {
    const workers = [...this.#workers.values()].map(({ child }) => child.end())
    await Promise.all([...workers, this.sidecar.close(), this.#resource.end(), this.#relay.end()])
  }

  async #do(action: Action): Promise<void> {
    switch (action.kind) {
      case 'pause': {
        const child = this.#childOf(action.who)
        child.signal('SIGSTOP')
        await sleep(action.ms)
        return child.signal('SIGCONT')
      }
      case 'kill':
        if (action.who === 'sidecar') {
          // Most kills find nothing open, and show nothing: this one waits a moment for something that is.
          await until(() => this.sidecar.hasOpenWrites(), 'an open write', AIM_MS).catch(() => {})
          return this.sidecar.stop('SIGKILL', action.downMs)
        }
        return this.#killWorker(action.who, action.downMs)
      case 'restart':
        return this.sidecar.stop('SIGTERM', action.downMs)
      case 'partition':
        this.#relay.send({ order: 'cut', path: action.path, how: action.how } satisfies RelayOrder)
        await sleep(action.ms)
        return this.#relay.send({ order: 'heal', path: action.path } satisfies RelayOrder)
      case 'store':
        this.sidecar.orderStore(action.order)
        await sleep(action.ms)
        return this.sidecar.orderStore('ok')
      case 'clock':
        return this.#options.clocks?.set(action.who, action.offsetMs)
      case 'freeze': {
        await this.operator.freeze(action.task)
        await sleep(action.ms)
        const token = action.elect ? this.#authority.next(action.task) : undefined
        if (!(await this.operator.thaw(action.task, token))) await this.operator.thaw(action.task, undefined)
        return
      }
      case 'raise':
        return this.operator.raise(action.task, this.#authority.next(action.task))
    }
  }

  async #killWorker(name: string, downMs: number): Promise<void> {
    const worker = this.#workers.get(name) as Worker
    await worker.child.end()
    await sleep(downMs)
    // Two kills at once are one.
    if (this.#workers.get(name) !== worker) return
    this.workerKills++
    this.#startWorker(name).child.send({ order: 'go' })
  }

  #childOf(who: string): Child {
    if (who === 'sidecar') return this.sidecar.child
    return who === 'resource' ? this.#resource : (this.#workers.get(who) as Worker).child
  }

  #startWorker(name: string): Worker {
    const { directory, seed, clocks } = this.#options
    // Of its own for each process: a request's id is never used again.
    const full = `${name}.${++this.#incarnations}`
    const log = path.join(directory, `client-${full}.jsonl`)
    const child = new Child(fileOf('worker.ts'), [full, log, String(this.#ports.front), String(seed)], {
      logFile: path.join(directory, `${name}.log`),
      env: clocks?.envOf(name) ?? {},
      onMessage: (message) => void this.#hear(name, child, message as WorkerMessage),
    })
    const worker = { child, paused: Promise.withResolvers<void>() }
    this.#workers.set(name, worker)
    return worker
  }

  async #hear(name: string, child: Child, message: WorkerMessage): Promise<void> {
    if ('paused' in message) return this.#workers.get(name)?.paused.resolve()
    if ('clocks' in message) {
      const fault = this.#options.clocks?.fault(name, message.clocks, this.#clocksAskedMs)
      if (fault) this.faults.push(fault)
      return this.#workers.get(name)?.paused.resolve()
    }
    child.send(await this.#authority.answer(name, message))
  }

  async #pause(name: string, worker: Worker): Promise<void> {
    worker.paused = Promise.withResolvers()
    worker.child.send({ order: 'pause' })
    await within(worker.paused.promise, `a pause of ${name}`, REST_MS)
  }

  async #readClocks(): Promise<void> {
    if (!this.#options.clocks) return
    for (const [name, worker] of this.#workers) {
      worker.paused = Promise.withResolvers()
      this.#clocksAskedMs = now()
      worker.child.send({ order: 'clocks' })
      await within(worker.paused.promise, `the clocks of ${name}`, REST_MS)
    }
  }

  /** Held outcomes are resolved as they come, or the round would stand still. */
  async #resolveHeld(): Promise<void> {
    while (!this.#resting) {
      await sleep(150)
      const records = (await this.operator.list()) ?? []
      const resolved = new Set(
        this.operator.acts.flatMap((act) => (act.kind === 'resolve' && act.until ? act.record : [])),
      )
      for (const { id, holds } of records) if (holds && !resolved.has(id)) await this.operator.resolve(id)
    }
  }

  async #resolveAll(): Promise<void> {
    const records = await this.operator.list()
    if (!records) throw new Error('a sidecar at rest does not list the unknown outcomes')
    for (const { id } of records) {
      if (!(await this.operator.resolve(id)))
        throw new Error(`record ${id} can't be resolved in a sidecar at rest`)
    }
  }

  /** The lowest token there is: it is refused if any mark is left. The rules judge the answer. */
  async #probeStale(task: string): Promise<void> {
    await this.#prober.write({ task, token: 1n, ...PROBE(task) })
  }

  async #probeProgress(task: string): Promise<void> {
    const token = this.#authority.next(task)
    const passed = async () => {
      const told = await this.#prober.write({ task, token, ...PROBE(task) })
      return told.kind === 'answer'
    }
    await until(passed, `a new holder of ${task} let in by a sidecar at rest`, PROGRESS_MS)
  }
}

const PROBE = (task: string) => ({
  route: TASKS[task]?.[0] as string,
  behave: 'ok 0',
  pieces: ['probe'],
  pauseMs: 0,
})
