/**
 * The wall clock of each process, set by libfaketime: a file that the library reads at each look at the clock. The
 * monotonic clock stays the machine's, which is asserted before a run and of every worker after each step.
 */
import fs from 'node:fs'
import path from 'node:path'
import { now } from '../support/history-log.ts'
import { within } from '../support/wait.ts'
import { forgetEnded } from './faketime-leftovers.ts'
import { Child, fileOf } from './processes.ts'

const LIBRARIES = ['x86_64', 'aarch64'].map((cpu) => `/usr/lib/${cpu}-linux-gnu/faketime/libfaketime.so.1`)
/** Between two looks at clocks; less than the smallest step. */
const TOLERANCE_MS = 200

export interface ClockReading {
  readonly monotonicMs: number
  readonly wallMs: number
}

export class Clocks {
  readonly #directory: string
  readonly #library: string
  readonly #offsets = new Map<string, number>()

  constructor(directory: string) {
    const library = LIBRARIES.find((file) => fs.existsSync(file))
    if (!library) throw new Error('libfaketime is not installed: it is in the Debian package faketime')
    this.#directory = directory
    this.#library = library
    forgetEnded()
  }

  envOf(who: string): Record<string, string> {
    this.set(who, this.#offsets.get(who) ?? 0)
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file(who),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }

  /** Sets the process's wall clock this far from the true time. */
  set(who: string, offsetMs: number): void {
    this.#offsets.set(who, offsetMs)
    const draft = `${this.#file(who)}.new`
    fs.writeFileSync(draft, `${offsetMs < 0 ? '-' : '+'}${Math.abs(offsetMs) / 1000}`)
    fs.renameSync(draft, this.#file(who))
  }

  /** Says what is wrong with clocks that were asked for at `askedMs` and are known now, if anything is. */
  fault(who: string, { monotonicMs, wallMs }: ClockReading, askedMs: number): string | undefined {
    const knownMs = now()
    if (monotonicMs < askedMs || monotonicMs > knownMs)
      return `the monotonic clock of ${who} is faked: ${monotonicMs} is not from ${askedMs} to ${knownMs}`
    const offsetMs = this.#offsets.get(who) ?? 0
    const off = wallMs - monotonicMs - (Date.now() - now()) - offsetMs
    if (Math.abs(off) <= TOLERANCE_MS) return undefined
    return `the wall clock of ${who} is ${Math.round(off)} ms from where it was set (${offsetMs} ms)`
  }

  /** Throws unless a process sees each step of the wall clock, and none of the monotonic one. */
  async prove(offsetsMs: readonly number[]): Promise<void> {
    const readings: ((reading: ClockReading) => void)[] = []
    const probe = new Child(fileOf('clock-probe.ts'), [], {
      logFile: path.join(this.#directory, 'clock-probe.log'),
      env: this.envOf('clock-probe'),
      onMessage: (reading) => readings.shift()?.(reading as ClockReading),
    })
    try {
      for (const offsetMs of offsetsMs) {
        this.set('clock-probe', offsetMs)
        const read = new Promise<ClockReading>((resolve) => readings.push(resolve))
        const askedMs = now()
        probe.send({})
        const fault = this.fault('clock-probe', await within(read, 'the clocks of a process'), askedMs)
        if (fault) throw new Error(fault)
      }
    } finally {
      await probe.end()
    }
  }

  #file(who: string): string {
    return path.join(this.#directory, `clock-${who}`)
  }
}
