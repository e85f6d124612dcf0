/** How many marks can be raised in a second, each durable before its caller goes on; at the store and at the gate. */
import fs from 'node:fs'
import path from 'node:path'
import { monotonicClock } from '../../src/clock.ts'
import { Admission } from '../../src/gate/admission.ts'
import { Gate } from '../../src/gate/gate.ts'
import type { Change, MarkStore } from '../../src/store/mark-store.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'

const IN_FLIGHT = 64

export async function raises(scale: Scale): Promise<Section> {
  const tasks = Array.from({ length: scale.quick ? 5000 : 100_000 }, (_, i) => `settlement-${i}`)
  const rows: Section['rows'][number][] = []

  async function measure(what: string, store: MarkStore, raise: (task: string) => Promise<unknown>) {
    const commits = store.counts().commitSequence
    const started = performance.now()
    await each(tasks, raise)
    const seconds = (performance.now() - started) / 1000
    const made = store.counts().commitSequence - commits
    rows.push({
      what,
      'raises/s': Math.round(tasks.length / seconds),
      'raises/commit': twoDigits(tasks.length / made),
      'commits/s': Math.round(made / seconds),
    })
  }

  const bare = await openStore(scale)
  await measure('store, new tasks', bare, (task) => bare.commit([mark(task, 1n)]))
  await measure('store, known tasks', bare, (task) => bare.commit([mark(task, 2n)]))
  await bare.close(true)

  const store = await openStore(scale)
  const gate = gateOn(store)
  await measure('gate, new tasks', store, (task) => write(gate, task, 1n))
  await measure('gate, known tasks', store, (task) => write(gate, task, 2n))
  gate.close()
  await store.close(true)

  return {
    name: 'raises',
    title: `Raises, each with a durable commit: ${tasks.length} tasks, ${IN_FLIGHT} in flight`,
    rows,
    notes: [
      `one fsync of a 4 KiB append takes ${fsyncMs(scale.directory).toFixed(2)} ms here (median of 200)`,
    ],
  }
}

function mark(task: string, token: bigint): Change {
  return { kind: 'mark', task, token, complete: true, holder: undefined }
}

function openStore({ directory }: Scale): Promise<MarkStore> {
  const options = { directory: fs.mkdtempSync(path.join(directory, 'raises-')), lockWaitMs: 1000 }
  return openSqliteMarkStore({ ...options, create: 'if-missing', intentsComplete: false }, (error) => {
    throw error
  })
}

function gateOn(store: MarkStore): Gate {
  return new Gate({
    store,
    clock: monotonicClock,
    handoverTimeoutMs: 10_000,
    drainLimitMs: 60_000,
    graceMs: 0,
    storeTimeoutMs: 60_000,
    cachedTasks: 100_000,
    maxTokenJump: undefined,
    limits: { openWrites: 1000, openWritesPerTask: 1000, waitersPerTask: 1000 },
    observer: { raised() {}, handedOver() {}, used() {} },
  })
}

/** One write as the data port makes it, with a resource that answers at once. */
async function write(gate: Gate, task: string, token: bigint): Promise<void> {
  const permit = await gate.admit(new Admission({ task, token }))
  if ('code' in permit) throw new Error(`${permit.code}: ${permit.detail}`)
  permit.begin()
  permit.release({ outcome: 'answered' })
}

/** Works through a list with a fixed number under way at any time. */
async function each<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < list.length) await work(list[next++] as T)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}

function fsyncMs(directory: string): number {
  const fd = fs.openSync(path.join(directory, 'fsync'), 'a')
  const times = Array.from({ length: 200 }, () => {
    const started = performance.now()
    fs.writeSync(fd, Buffer.alloc(4096))
    fs.fsyncSync(fd)
    return performance.now() - started
  })
  fs.closeSync(fd)
  return median(times)
}
