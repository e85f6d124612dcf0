/**
 * The terminal of a live screen. Invariant: however the process ends, by its own will, a signal or an error, the
 * terminal is as it was before; a message of the end comes after that, where it is seen.
 */
import type { ReadStream, WriteStream } from 'node:tty'
import { keysIn, type Pressed } from './keys.ts'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'

export interface TerminalEvents {
  readonly key: (key: Exclude<Pressed, 'suspend'>) => void
  /** The screen has another size, or must be drawn anew. */
  readonly redraw: () => void
  /** It is gone: there is nobody to draw for. */
  readonly gone: () => void
}

export class Terminal {
  readonly #input: ReadStream
  readonly #output: WriteStream
  readonly #events: TerminalEvents
  #isEntered = false

  constructor(input: ReadStream, output: WriteStream, events: TerminalEvents) {
    this.#input = input
    this.#output = output
    this.#events = events
  }

  open(): void {
    process.on('exit', this.#leave)
    // Unlike a listener of the exception itself, this one leaves to others what comes of it.
    process.on('uncaughtExceptionMonitor', this.#leave)
    process.on('SIGCONT', this.#resumed)
    this.#output.on('resize', this.#events.redraw).on('error', this.#events.gone)
    this.#input.on('data', this.#typed).on('end', this.#events.gone).on('error', this.#events.gone)
    this.#enter()
  }

  close(): void {
    this.#leave()
    process.off('exit', this.#leave).off('uncaughtExceptionMonitor', this.#leave)
    process.off('SIGCONT', this.#resumed)
    this.#output.off('resize', this.#events.redraw)
    this.#input.off('data', this.#typed).off('end', this.#events.gone).pause()
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.#output.columns || 80, rows: this.#output.rows || 24 }
  }

  /** Left out where what was drawn before has not been taken yet: a later one comes. */
  draw(lines: readonly string[]): void {
    if (!this.#isEntered || this.#output.writableNeedDrain) return
    this.#output.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`)
  }

  #enter(): void {
    this.#input.setRawMode(true)
    this.#input.setEncoding('utf8').resume()
    this.#output.write(ENTER)
    this.#isEntered = true
  }

  readonly #leave = (): void => {
    if (!this.#isEntered) return
    this.#isEntered = false
    try {
      this.#input.setRawMode(false)
      this.#output.write(LEAVE)
    } catch {
      // A terminal that is gone needs no restoring, and nobody is there to be told.
    }
  }

  readonly #typed = (text: string): void => {
    for (const key of keysIn(text)) {
      if (key === 'suspend') this.#suspend()
      else this.#events.key(key)
    }
  }

  #suspend(): void {
    this.#leave()
    process.kill(process.pid, 'SIGTSTP')
  }

  readonly #resumed = (): void => {
    if (this.#isEntered) this.#leave()
    this.#enter()
    this.#events.redraw()
  }
}
