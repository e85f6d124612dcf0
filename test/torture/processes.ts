/** The processes under torture. Each is known by its pid; all of them end with the run, however it ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { forget } from './faketime-leftovers.ts'

/** Halves the processor time of a start. */
const COMPILE_CACHE = path.join(import.meta.dirname, '../../node_modules/.cache/node-compile')

const alive = new Set<Child>()

process.once('exit', () => {
  for (const child of alive) child.signal('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.error(`torture: ended by ${signal}`)
    process.exit(1)
  })
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ChildOptions {
  /** Its output goes there, besides to `onLine`. */
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  readonly imports?: readonly string[]
  readonly onLine?: (line: string) => void
  readonly onMessage?: (message: unknown) => void
}

export class Child {
  readonly exited: Promise<Ended>
  readonly #child: ChildProcess

  /** Runs a TypeScript file. Nothing of the caller's environment reaches it but PATH. */
  constructor(file: string, args: readonly string[], options: ChildOptions) {
    const imports = (options.imports ?? []).map((module) => `--import=${module}`)
    const out = fs.openSync(options.logFile, 'a')
    this.#child = spawn(process.execPath, [...imports, file, ...args], {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILE_CACHE, ...options.env },
      // The pipe at its input ends with this process, however that ends.
      stdio: ['pipe', 'pipe', out, 'ipc'],
    })
    alive.add(this)
    let rest = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      fs.writeSync(out, text)
      const lines = (rest + text).split('\n')
      rest = lines.pop() as string
      for (const line of lines) options.onLine?.(line)
    })
    this.#child.on('message', (message) => options.onMessage?.(message))
    this.#child.on('error', () => {})
    this.#child.stdin?.on('error', () => {})
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        alive.delete(this)
        if (this.#child.pid !== undefined) forget(this.#child.pid)
        fs.closeSync(out)
        resolve({ code, signal })
      })
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  send(message: object): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /** Does nothing to a process that has ended. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async end(): Promise<void> {
    this.signal('SIGKILL')
    await this.exited
  }
}

/** Ends what is left; a run that fails to start leaves some. */
export async function endAll(): Promise<void> {
  await Promise.all([...alive].map((child) => child.end()))
}

export const fileOf = (name: string) => path.join(import.meta.dirname, name)
