/**
 * `kill -9` at random instants: whatever the store acknowledged is there at the next start, and nothing that
 * nobody asked for. FENCEGATE_KILL_ROUNDS sets the number of kills, FENCEGATE_SEED repeats a run's choices.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { OperationRecord } from '../../src/journal/operations.ts'
import { openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import type { Token } from '../../src/token.ts'
import { ANSWER } from '../support/store-operations.ts'
import { seededRandom } from '../support/store-random.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const CHILD = fileURLToPath(new URL('../support/store-kill-child.ts', import.meta.url))
const ROUNDS = Number(process.env.FENCEGATE_KILL_ROUNDS ?? 24)
const SEED = Number(process.env.FENCEGATE_SEED ?? Math.floor(Math.random() * 2 ** 32))
/** Two at a time, each on stores of its own. */
const CHAINS = 2
const ROUNDS_PER_STORE = 8

type End = 'ended' | 'unknown'

/** What was said of writes: asked for, and acknowledged. */
class WritesTestimony {
  readonly #intended = new Set<string>()
  readonly #acknowledged = new Set<string>()
  readonly #ending = new Map<string, End>()
  readonly #ended = new Set<string>()

  hear(kind: string, id: string, end: End | undefined): void {
    if (kind === 'i?') this.#intended.add(id)
    else if (kind === 'i!') this.#acknowledged.add(id)
    else if (kind === 'e?') this.#ending.set(id, end as End)
    else this.#ended.add(id)
  }

  compare(tables: StoreTables): void {
    const unresolved = tables.unresolved(1_000_000)
    expect(unresolved.filter(({ id }) => !this.#intended.has(id))).toEqual([])
    expect(tables.counts.unresolved).toBe(unresolved.length)
    const reasons = new Map(unresolved.map(({ id, reason }) => [id, reason]))
    for (const id of this.#intended) {
      expect(this.#permitted(id), `${id}, as it was ${this.#ending.get(id)}`).toContain(reasons.get(id))
      this.#compareOperation(id, reasons.has(id), tables.operation(id))
    }
    const highest = new Map<string, Token>()
    for (const { task, token } of unresolved) {
      if (token > (highest.get(task) ?? 0n)) highest.set(task, token)
    }
    for (const [task, token] of highest) {
      expect(tables.load(task).mark.token, 'a write without its raise').toBeGreaterThanOrEqual(token)
    }
  }

  /** An operation and its only attempt's write tell the same story: they shared every commit. */
  #compareOperation(id: string, isUnknown: boolean, operation: OperationRecord | undefined): void {
    const mayBeNothing = !this.#acknowledged.has(id) && !this.#ending.has(id)
    if (isUnknown || !mayBeNothing || operation) {
      expect(operation?.state, `operation ${id}`).toBe(isUnknown ? 'unknown' : 'done')
      expect(operation?.answer, `operation ${id}`).toEqual(isUnknown ? undefined : ANSWER)
    }
  }

  /** What may be on record of a write, given what its process heard before it was killed. */
  #permitted(id: string): (string | undefined)[] {
    const end = this.#ending.get(id)
    if (this.#ended.has(id)) return end === 'unknown' ? ['timeout'] : [undefined]
    if (end === 'unknown') return ['timeout', 'restart']
    return end === undefined && this.#acknowledged.has(id) ? ['restart'] : ['restart', undefined]
  }
}

/** All that the processes of one store said before they were killed. */
class Testimony {
  readonly asked = new Map<string, Token>()
  readonly askedComplete = new Set<string>()
  readonly acknowledged = new Map<string, { token: Token; complete: boolean }>()
  readonly #writes = new WritesTestimony()
  commitSequence = 0
  /** Whether a process had the store open since it was last closed cleanly. */
  unclean = false

  hear(log: string): void {
    const lines = log.split('\n').slice(0, -1) // What follows the last newline was cut off by the kill.
    for (const line of lines) {
      const [kind, task, digits, flag] = line.split(' ') as [string, string, string, string]
      if (kind.length > 1) {
        this.#writes.hear(kind, task, digits as End | undefined)
        continue
      }
      const token = BigInt(digits)
      const complete = flag === 'true'
      if (kind === '?') {
        if (token > (this.asked.get(task) ?? 0n)) this.asked.set(task, token)
        if (complete) this.askedComplete.add(`${task} ${token}`)
      } else if (token > (this.acknowledged.get(task)?.token ?? 0n)) {
        this.acknowledged.set(task, { token, complete })
      }
    }
  }

  /** Opens the store and compares it with what was said. */
  compare(directory: string, closeCleanly: boolean): void {
    const store = openStore({ directory, create: 'if-missing', lockWaitMs: 10_000, intentsComplete: false })
    const tables = new StoreTables(store)
    if (this.unclean) expect(store.origin.unclean, 'an unclean stop went unnoticed').toBe(true)
    for (const [task, asked] of this.asked) {
      const { mark } = tables.load(task)
      const acknowledged = this.acknowledged.get(task)
      expect(mark.token, `${task}: nobody asked for it`).toBeLessThanOrEqual(asked)
      if (mark.complete) expect(this.askedComplete).toContain(`${task} ${mark.token}`)
      if (!acknowledged) continue
      expect(mark.token, `${task}: forgotten`).toBeGreaterThanOrEqual(acknowledged.token)
      if (mark.token === acknowledged.token && acknowledged.complete) expect(mark.complete).toBe(true)
    }
    this.#writes.compare(tables)
    expect(tables.counts.commitSequence).toBeGreaterThanOrEqual(this.commitSequence)
    this.commitSequence = tables.counts.commitSequence
    tables.close(closeCleanly)
    this.unclean = !closeCleanly
  }
}

/** Runs a process on the store and kills it; before or after it has opened the store, as it comes. */
async function runAndKill(directory: string, testimony: Testimony, random: () => number): Promise<void> {
  const log = path.join(directory, 'log')
  const output = fs.openSync(log, 'w')
  const args = [CHILD, directory, String(Math.floor(random() * 2 ** 32))]
  const child = spawn(process.execPath, args, { stdio: ['ignore', output, 'inherit', 'ipc'] })
  fs.closeSync(output)
  const exited = once(child, 'exit')
  const opened = once(child, 'message').then(() => {
    testimony.unclean = true
  })
  if (random() < 0.8) {
    await Promise.race([opened, exited])
    await sleep(random() * 150)
  } else {
    await sleep(random() * 300)
  }
  child.kill('SIGKILL')
  expect(await exited, 'it ended by itself').toEqual([null, 'SIGKILL'])
  testimony.hear(fs.readFileSync(log, 'utf8'))
}

async function chain(rounds: number, random: () => number): Promise<number> {
  let acknowledged = 0
  let directory = ''
  let testimony = new Testimony()
  for (let round = 0; round < rounds; round++) {
    if (round % ROUNDS_PER_STORE === 0) {
      directory = temporaryDirectory()
      testimony = new Testimony()
    }
    await runAndKill(directory, testimony, random)
    // Sometimes the next process comes before anybody has looked, sometimes after an orderly stop.
    const last = round % ROUNDS_PER_STORE === ROUNDS_PER_STORE - 1 || round === rounds - 1
    if (last || random() < 0.6) testimony.compare(directory, random() < 0.5)
    if (last) for (const { token } of testimony.acknowledged.values()) acknowledged += Number(token)
  }
  return acknowledged
}

test(
  `${ROUNDS} kills at random instants forget nothing that was acknowledged (FENCEGATE_SEED=${SEED})`,
  async () => {
    const chains = Array.from({ length: CHAINS }, (_, i) =>
      chain(Math.ceil(ROUNDS / CHAINS), seededRandom(SEED + i)),
    )
    for (const result of await Promise.allSettled(chains)) {
      if (result.status === 'rejected') throw result.reason
      expect(result.value, 'hardly anything was recorded').toBeGreaterThan(ROUNDS)
    }
  },
  30_000 + ROUNDS * 4_000,
)
