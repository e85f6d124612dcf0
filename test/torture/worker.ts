/**
 * A worker's process: takes leases and writes with their tokens, from `go` to `pause`.
 * It believes its lease by the wall clock, goes on until a late renewal says otherwise, and does not always stop
 * when it is told to: the worker that fencing is there for. Arguments: its name, the client log, the front port,
 * a seed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ToldLine } from '../support/history-log.ts'
import { now } from '../support/history-log.ts'
import type { LeaseAnswer, LeaseOrder } from './authority.ts'
import { chooseBehaviour } from './behaviour.ts'
import { Client } from './client.ts'
import { TASKS } from './limits.ts'
import { between, pick, randomFor } from './random.ts'

const [name, logFile, port, seed] = process.argv.slice(2) as [string, string, string, string]
const random = randomFor(Number(seed), name)
const client = new Client(name, logFile)
client.port = Number(port)
/** Survives a restart of the process, as a host's name does. */
const holder = name.split('.')[0] as string
const JOBS = 4

export type WorkerOrder = { readonly order: 'pause' | 'go' | 'clocks' } | LeaseAnswer
export type WorkerMessage =
  | { readonly paused: true }
  | { readonly clocks: { readonly monotonicMs: number; readonly wallMs: number } }
  | LeaseOrder

let going = false
let busy = 0
let asks = 0
const answers = new Map<number, (answer: LeaseAnswer) => void>()

const say = (message: WorkerMessage) => process.send?.(message)

process.on('disconnect', () => process.exit())
process.on('message', (message: WorkerOrder) => {
  if ('n' in message) {
    answers.get(message.n)?.(message)
    answers.delete(message.n)
  } else if (message.order === 'clocks') say({ clocks: { monotonicMs: now(), wallMs: Date.now() } })
  else {
    going = message.order === 'go'
    reportPause()
  }
})

function reportPause(): void {
  if (!going && busy === 0 && client.waiting === 0) say({ paused: true })
}

function authority(kind: LeaseOrder['kind'], task: string, token?: bigint): Promise<LeaseAnswer> {
  const n = ++asks
  return new Promise((resolve) => {
    answers.set(n, resolve)
    say({ kind, task, n, ...(token !== undefined && { token: token.toString() }) })
  })
}

/** A lease as its holder believes it to be. */
class Belief {
  readonly task: string
  readonly token: bigint
  #untilWall: number
  #over = false
  #renewing = false

  constructor(task: string, token: bigint, leaseMs: number) {
    this.task = task
    this.token = token
    this.#untilWall = Date.now() + leaseMs
  }

  get held(): boolean {
    if (!this.#over && Date.now() > this.#untilWall - 100) void this.#renew()
    return !this.#over
  }

  drop(): void {
    this.#over = true
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return
    this.#renewing = true
    const { token, leaseMs } = await authority('renew', this.task, this.token)
    this.#renewing = false
    this.#untilWall = Date.now() + leaseMs
    if (token === undefined && random() < 0.8) this.drop()
  }
}

function react(belief: Belief, told: ToldLine): void {
  if (told.kind !== 'refusal') return
  if (told.code === 'stale-token') {
    // Now and then one that takes the mark's own token for its own.
    if (random() < 0.03 && told.highest) void write(belief.task, BigInt(told.highest)).then(reportPause)
    if (random() < 0.7) belief.drop()
  }
  if (told.code === 'token-conflict') belief.drop()
}

function write(task: string, token: bigint): Promise<ToldLine> {
  const [usual, other] = TASKS[task] as [string, string | undefined]
  const pieces = random() < 0.75 ? 1 : between(random, 2, 6)
  const size = random() < 0.1 ? 20_000 : between(random, 1, 600)
  return client.write({
    task,
    token,
    holder,
    route: other && random() < 0.35 ? other : usual,
    behave: chooseBehaviour(random),
    pieces: Array.from({ length: pieces }, (_, i) => `${i}${pick(random, ['a', 'b', 'c']).repeat(size)}`),
    pauseMs: between(random, 0, 40),
    leaveAfterMs: random() < 0.04 ? between(random, 0, 60) : undefined,
  })
}

async function hold(belief: Belief): Promise<void> {
  const { task, token } = belief
  if (random() < 0.5) react(belief, await client.announce({ task, token, holder }))
  for (let writes = between(random, 1, 25); going && belief.held && writes > 0; writes--) {
    const batch = Array.from({ length: random() < 0.7 ? 1 : 3 }, () => write(task, token))
    for (const told of await Promise.all(batch)) react(belief, told)
    await sleep(between(random, 0, 12))
  }
}

async function job(): Promise<never> {
  for (;;) {
    if (going) {
      busy++
      const task = pick(random, Object.keys(TASKS))
      const { token, leaseMs } = await authority('acquire', task)
      if (token !== undefined) await hold(new Belief(task, BigInt(token), leaseMs))
      busy--
      reportPause()
    }
    await sleep(between(random, 5, 30))
  }
}

reportPause()
await Promise.all(Array.from({ length: JOBS }, job))
