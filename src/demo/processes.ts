/**
 * The processes of the demo: started with this same Node, spoken to over IPC, stopped, continued and ended
 * by their own process id.
 *
 * Invariants: nothing is started once `endAll` was called; after it has resolved, none of them runs, not
 * even one that was stopped; if this process exits early all the same, they are killed on its way out.
 */
import { fork, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Actor } from './actor.ts'

/** The sources run as `.ts`, the build as `.js`. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
const MAIN = fileURLToPath(new URL(`../main${EXTENSION}`, import.meta.url))

export class Processes {
  readonly #actors: Actor[] = []
  readonly #onExit = () => {
    for (const actor of this.#actors) actor.killNow()
  }
  #closed = false

  constructor() {
    process.on('exit', this.#onExit)
  }

  /** Starts a part of the demo: the file of this folder with that name. */
  start(name: string, role: 'ledger' | 'authority' | 'worker', ...args: string[]): Actor {
    this.#demandOpen()
    const file = fileURLToPath(new URL(`./${role}${EXTENSION}`, import.meta.url))
    const child = fork(file, args, { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    return this.#add(new Actor(name, child))
  }

  /** Starts the sidecar as anybody would, and reports `listening` for it when its log says so. */
  startSidecar(configFile: string): Actor {
    this.#demandOpen()
    const args = [MAIN, 'serve', '--config', configFile]
    // The environment beats the file: settings meant for another sidecar must not reach this one.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([key]) => !/^(FENCEGATE|OTEL)_/.test(key)),
    )
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const actor = this.#add(new Actor('sidecar', child))
    createInterface(child.stdout).on('line', (line) => {
      actor.keepOutput(`${line}\n`)
      const data = listeningOn(line)
      if (data !== undefined) actor.put({ kind: 'listening', origin: `http://${data}` })
    })
    return actor
  }

  async endAll(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#actors.map((actor) => actor.kill()))
    process.off('exit', this.#onExit)
  }

  #add(actor: Actor): Actor {
    this.#actors.push(actor)
    return actor
  }

  #demandOpen(): void {
    if (this.#closed) throw new Error('the demo is ending')
  }
}

/** `host:port` of the data port, if the log line is the one that tells it. */
function listeningOn(line: string): string | undefined {
  try {
    const { msg, data } = JSON.parse(line)
    return msg === 'listening' && typeof data === 'string' ? data : undefined
  } catch {
    return undefined
  }
}
