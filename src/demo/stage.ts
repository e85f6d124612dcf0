/**
 * Sets the stage of a run: its processes, each on a free port of the loopback address, and the sidecar with
 * a store of its own in the run's directory. All start at once, as far as one doesn't need the other.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Actor } from './actor.ts'
import type { Processes } from './processes.ts'
import type { Writer } from './story.ts'
import type { Timeline } from './timeline.ts'
import { setWallClock } from './wall-clock.ts'

export interface Service {
  readonly actor: Actor
  readonly origin: string
}

export interface Worker {
  readonly writer: Writer
  readonly actor: Actor
  readonly clockFile: string
}

export interface Stage {
  readonly ledger: Service
  readonly authority: Service
  readonly sidecar: Service | undefined
  readonly a: Worker
  readonly b: Worker
  /** Where the workers write: the sidecar if there is one, else the ledger. */
  readonly store: string
}

/** @param directory an empty one, for this run alone. */
export async function setStage(processes: Processes, directory: string, fenced: boolean): Promise<Stage> {
  const [[ledger, sidecar], authority, a, b] = await Promise.all([
    startLedger(processes, directory, fenced),
    listening(processes.start('authority', 'authority')),
    startWorker(processes, directory, 'A'),
    startWorker(processes, directory, 'B'),
  ])
  return { ledger, authority, sidecar, a, b, store: (sidecar ?? ledger).origin }
}

export function announce(timeline: Timeline, { ledger, authority, sidecar, a, b, store }: Stage): void {
  const introduce = (name: 'ledger' | 'authority' | 'sidecar', { actor, origin }: Service, does: string) => {
    const text = `${does}: process ${actor.pid}, ${origin}`
    timeline.add({ actor: name, event: 'listening', text, tone: 'faint', facts: { pid: actor.pid, origin } })
  }
  introduce('ledger', ledger, 'takes any writer')
  introduce('authority', authority, 'grants leases, tokens only rise')
  if (sidecar) introduce('sidecar', sidecar, 'stands before the ledger')
  for (const { writer, actor } of [a, b]) {
    const text = `is ready: process ${actor.pid}, writes to ${store}`
    timeline.add({ actor: writer, event: 'ready', text, tone: 'faint', facts: { pid: actor.pid, store } })
  }
}

export function begin({ actor }: Worker, { authority, store }: Stage): void {
  actor.order({ authority: authority.origin, store })
}

/** Ends what is left once the story is over; the workers and the sidecar have to end cleanly. */
export async function clearStage(timeline: Timeline, stage: Stage): Promise<void> {
  await Promise.all([stage.a.actor.ended(), stage.b.actor.ended()])
  if (stage.sidecar) {
    stage.sidecar.actor.signal('SIGTERM')
    await stage.sidecar.actor.ended()
    timeline.add({ actor: 'sidecar', event: 'ended', text: 'ends on SIGTERM, exit code 0', tone: 'faint' })
  }
  await Promise.all([stage.ledger.actor.kill(), stage.authority.actor.kill()])
}

async function startLedger(
  processes: Processes,
  directory: string,
  fenced: boolean,
): Promise<[Service, Service | undefined]> {
  const ledger = await listening(processes.start('ledger', 'ledger'))
  if (!fenced) return [ledger, undefined]
  const configFile = join(directory, 'sidecar.yaml')
  // JSON is YAML. No delay on SIGTERM: nobody is sent here by a load balancer.
  const config = {
    listen: '127.0.0.1:0',
    admin: { listen: '127.0.0.1:0' },
    upstream: { url: ledger.origin },
    store: { path: join(directory, 'marks'), create: 'if-missing' },
    shutdown: { delay: '0s', deadline: '5s' },
  }
  writeFileSync(configFile, JSON.stringify(config))
  return [ledger, await listening(processes.startSidecar(configFile))]
}

async function listening(actor: Actor): Promise<Service> {
  const { origin } = await actor.next('listening')
  return { actor, origin }
}

async function startWorker(processes: Processes, directory: string, writer: Writer): Promise<Worker> {
  const clockFile = join(directory, `clock-${writer}`)
  setWallClock(clockFile, 0)
  const actor = processes.start(`worker ${writer}`, 'worker', writer, clockFile)
  await actor.next('ready')
  return { writer, actor, clockFile }
}
