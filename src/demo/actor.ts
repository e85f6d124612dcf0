/**
 * One process of the demo, seen from the demo: its reports in order, its signals, its end.
 *
 * Invariant: no wait outlives the process. Who waits for a report of a process that has ended gets an error
 * with what it said last.
 */
import type { ChildProcess } from 'node:child_process'
import type { Message, Order } from './story.ts'

/** Characters of a process's output kept for the error message. */
const OUTPUT_KEPT = 2000

type Kind = Message['kind']

export class Actor {
  readonly name: string
  readonly #child: ChildProcess
  readonly #exited: Promise<string>
  readonly #inbox: Message[] = []
  /** How the process ended, once it has. */
  #end: string | undefined
  #wake: (() => void) | undefined
  #lastOutput = ''

  constructor(name: string, child: ChildProcess) {
    this.name = name
    this.#child = child
    this.#exited = new Promise((resolve) => {
      const ended = (how: string) => {
        this.#end ??= how
        this.#wake?.()
        resolve(how)
      }
      child.on('error', (error) => ended(`could not be run: ${error.message}`))
      // `close`, not `exit`: by then its last reports and output have been read.
      child.once('close', (code, signal) => ended(`ended with ${signal ?? `exit code ${code}`}`))
    })
    child.on('message', (message: Message) => this.put(message))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.keepOutput(text))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  put(message: Message): void {
    this.#inbox.push(message)
    this.#wake?.()
  }

  keepOutput(text: string): void {
    this.#lastOutput = (this.#lastOutput + text).slice(-OUTPUT_KEPT)
  }

  /** The next report, which has to be of one of these kinds: anything else is not the story. */
  async next<K extends Kind>(...kinds: K[]): Promise<Extract<Message, { kind: K }>> {
    const awaited = `'${kinds.join("' or '")}' was awaited`
    while (this.#inbox.length === 0) {
      if (this.#end !== undefined) throw this.#fault(`${this.#end} while ${awaited}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const message = this.#inbox.shift()
    if (kinds.some((kind) => kind === message?.kind)) return message as Extract<Message, { kind: K }>
    throw this.#fault(`reported ${JSON.stringify(message)} while ${awaited}`)
  }

  order(order: Order): void {
    this.#child.send(order)
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Waits for its end, which has to be a clean one. */
  async ended(): Promise<void> {
    const how = await this.#exited
    if (how !== 'ended with exit code 0') throw this.#fault(how)
  }

  /** Ends it whatever it does: SIGKILL takes a stopped process too, without letting it run once more. */
  async kill(): Promise<void> {
    this.killNow()
    await this.#exited
  }

  killNow(): void {
    this.signal('SIGKILL')
  }

  #fault(what: string): Error {
    const output = this.#lastOutput.trim()
    return new Error(`${this.name} ${what}${output === '' ? '' : `\n${output}`}`)
  }
}
