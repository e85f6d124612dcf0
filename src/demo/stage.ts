/**
 * Sets the stage of a run: its processes, each on a free port of the loopback address, and the sidecar with
 * a store of its own in the run's directory.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Actor } from './actor.ts'
import type { Processes } from './processes.ts'
import type { Writer } from './story.ts'
import type { Timeline } from './timeline.ts'
import { setWallClock } from './wall-clock.ts'

export interface Stage {
  readonly processes: Processes
  readonly timeline: Timeline
  /** An empty directory for this run alone. */
  readonly directory: string
  readonly fenced: boolean
}

export interface Service {
  readonly actor: Actor
  readonly origin: string
}

export interface Worker {
  readonly writer: Writer
  readonly actor: Actor
  readonly clockFile: string
}

const PURPOSE = {
  ledger: 'takes any writer',
  authority: 'grants leases, with tokens that only rise',
  sidecar: 'stands before the ledger',
}

export interface Cast {
  readonly ledger: Service
  readonly authority: Service
  readonly sidecar: Service | undefined
  readonly a: Worker
  readonly b: Worker
}

export async function setStage(stage: Stage): Promise<Cast> {
  const { processes } = stage
  const [ledger, authority] = await Promise.all([
    listening(stage, 'ledger', processes.start('ledger', 'ledger')),
    listening(stage, 'authority', processes.start('authority', 'authority')),
  ])
  const sidecar = stage.fenced ? await startSidecar(stage, ledger.origin) : undefined
  const store = (sidecar ?? ledger).origin
  const [a, b] = await Promise.all([
    startWorker(stage, 'A', authority.origin, store),
    startWorker(stage, 'B', authority.origin, store),
  ])
  return { ledger, authority, sidecar, a, b }
}

/** Ends what is left once the story is over; the workers and the sidecar have to end cleanly. */
export async function clearStage({ timeline }: Stage, cast: Cast): Promise<void> {
  await Promise.all([cast.a.actor.ended(), cast.b.actor.ended()])
  if (cast.sidecar) {
    cast.sidecar.actor.signal('SIGTERM')
    await cast.sidecar.actor.ended()
    timeline.add({ actor: 'sidecar', event: 'ended', text: 'ends on SIGTERM, exit code 0', tone: 'faint' })
  }
  await Promise.all([cast.ledger.actor.kill(), cast.authority.actor.kill()])
}

async function startSidecar(stage: Stage, upstream: string): Promise<Service> {
  const configFile = join(stage.directory, 'sidecar.yaml')
  // JSON is YAML. No delay on SIGTERM: nobody is sent here by a load balancer.
  const config = {
    listen: '127.0.0.1:0',
    admin: { listen: '127.0.0.1:0' },
    upstream: { url: upstream },
    store: { path: join(stage.directory, 'marks'), create: 'if-missing' },
    shutdown: { delay: '0s', deadline: '5s' },
  }
  writeFileSync(configFile, JSON.stringify(config))
  return listening(stage, 'sidecar', stage.processes.startSidecar(configFile))
}

async function listening(
  { timeline }: Stage,
  name: 'ledger' | 'authority' | 'sidecar',
  actor: Actor,
): Promise<Service> {
  const { origin } = await actor.next('listening')
  const text = `${PURPOSE[name]}: process ${actor.pid}, ${origin}`
  timeline.add({ actor: name, event: 'listening', text, tone: 'faint', facts: { pid: actor.pid, origin } })
  return { actor, origin }
}

async function startWorker(stage: Stage, writer: Writer, authority: string, store: string): Promise<Worker> {
  const clockFile = join(stage.directory, `clock-${writer}`)
  setWallClock(clockFile, 0)
  const actor = stage.processes.start(`worker ${writer}`, 'worker', writer, authority, store, clockFile)
  await actor.next('ready')
  const text = `is ready: process ${actor.pid}, writes to ${store}`
  stage.timeline.add({ actor: writer, event: 'ready', text, tone: 'faint', facts: { pid: actor.pid, store } })
  return { writer, actor, clockFile }
}
