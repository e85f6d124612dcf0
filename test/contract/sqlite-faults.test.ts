/**
 * What a failing disk does to the SQLite store: a full one is a definite failure and service goes on; any
 * other fault leaves unknown what is stored, and the process has to end.
 */
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { EXIT } from '../../src/errors.ts'
import { type Change, type MarkStore, StoreError } from '../../src/store/mark-store.ts'
import type { FromWorker, ToWorker } from '../../src/store/messages.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import { markChange, markOf, record } from '../support/store-changes.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { openInProcess } from '../support/store-process.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { settled } from '../support/virtual-clock.ts'

const support = (file: string) => fileURLToPath(new URL(`../support/${file}`, import.meta.url))

const PLENTY = '1000000'
const NO_MORE = '1' // SQLite rounds it up to the pages that are in use.

const options = () =>
  ({ directory: temporaryDirectory(), create: 'if-missing', lockWaitMs: 0, intentsComplete: false }) as const

const longName = (i: number) => `a-task-with-a-name-long-enough-to-need-pages-${'x'.repeat(150)}-${i}`

/** Records each, and says which of them were refused. */
async function recordAll(store: MarkStore, tasks: readonly string[], token: bigint): Promise<string[]> {
  const results = await Promise.allSettled(tasks.map((task) => record(store, task, token, true)))
  const refused: string[] = []
  for (const [i, result] of results.entries()) {
    if (result.status === 'fulfilled') continue
    expect(result.reason).toBeInstanceOf(StoreError)
    expect(result.reason.message).toMatch(/full/)
    refused.push(tasks[i] as string)
  }
  return refused
}

test('a full disk refuses records, stores nothing of them, and is over when there is room', async () => {
  const limit = path.join(temporaryDirectory(), 'limit')
  fs.writeFileSync(limit, PLENTY)
  const where = options()
  const store = await openInProcess(where, {
    preload: support('faulty-page-limit.ts'),
    env: { TEST_PAGE_LIMIT_FILE: limit },
  })
  await record(store, 'k', 8n, true)
  fs.writeFileSync(limit, NO_MORE)
  const tasks = Array.from({ length: 200 }, (_, i) => longName(i))
  const refused = await recordAll(store, tasks, 5n)
  expect(refused.length).toBeGreaterThan(100)
  for (const task of tasks) {
    const expected = refused.includes(task) ? { token: 0n, recorded: false } : { token: 5n, recorded: true }
    expect(await markOf(store, task)).toMatchObject(expected)
  }
  expect(store.counts().tasks).toBe(1 + tasks.length - refused.length)
  await record(store, 'k', 9n, true) // Needs no page more.
  fs.writeFileSync(limit, PLENTY)
  expect(await recordAll(store, refused, 6n)).toEqual([])
  await store.kill()

  const reopened = await openInProcess(where)
  expect(await markOf(reopened, 'k')).toMatchObject({ token: 9n })
  for (const task of refused)
    expect(await markOf(reopened, task)).toMatchObject({ token: 6n, recorded: true })
  await reopened.close(true)
})

test('the WAL does not grow for ever: it is checkpointed after some thousand records', async () => {
  const where = options()
  const store = await openSqliteMarkStore(where, (error) => {
    throw error
  })
  const sizes: number[] = []
  for (let round = 1; round <= 15; round++) {
    // One turn of the event loop, so one commit.
    await Promise.all(Array.from({ length: 2000 }, (_, i) => record(store, `task-${i}`, BigInt(round), true)))
    sizes.push(fs.statSync(path.join(where.directory, 'marks.db-wal')).size)
  }
  const [first, fifth, last] = [sizes[0], sizes[4], sizes[14]] as [number, number, number]
  expect(fifth).toBeGreaterThan(3 * first)
  expect(last).toBeLessThan(1.5 * fifth)
  await store.close(true)
})

test('a WAL that fills the disk is checkpointed, and service goes on in the room that it has', async () => {
  const where = options()
  const store = await openInProcess(where, { preload: support('faulty-wal-room.ts') })
  let refused = 0
  for (let token = 1n; token <= 100n; token++) {
    const before = refused
    await record(store, 'k', token, true).catch(() => refused++)
    if (refused > before) await record(store, 'k', token, true) // At once, not some thousand records later.
  }
  expect(refused).toBeGreaterThan(2)
  expect(await markOf(store, 'k')).toMatchObject({ token: 100n })
  await store.close(true)
})

test('an I/O error is fatal: 69, the record’s fate is never told, and what was told before is kept', async () => {
  const where = options()
  await (await openInProcess(where)).close(true)
  const store = await openInProcess(where, { fileBlocks: 1024 })
  const told = new Map<string, bigint>()
  let answered = 0
  let asked = 0
  let failure: unknown
  const fatal = store.fatal.then((error) => {
    failure = error
  })
  while (failure === undefined) {
    const task = longName(asked % 50)
    const token = BigInt(++asked)
    const recorded = record(store, task, token, true).then(() => {
      answered++
      told.set(task, token)
    })
    await Promise.race([recorded, fatal])
  }
  expect(failure).toMatchObject({ exitCode: EXIT.unavailable })
  expect(String(failure)).toMatch(/SQLite error \d+.*unknown until the store is opened anew/)
  expect(answered).toBe(asked - 1)
  expect(answered).toBeGreaterThan(50)
  await expect(record(store, 'k', 1n, true)).rejects.toThrow('closed')
  await settled()
  expect(answered, 'answered after the fatal fault').toBe(asked - 1)
  await store.close(false)

  const reopened = await openInProcess(where)
  expect(reopened.origin.unclean).toBe(true)
  for (const [task, token] of told) {
    const mark = await markOf(reopened, task)
    expect(mark.token).toBeGreaterThanOrEqual(token)
    expect(mark.token).toBeLessThanOrEqual(BigInt(asked))
  }
  await reopened.close(true)
})

test('a store’s thread that ends before it opened is a start that failed, not one that hangs', async () => {
  const opening = openInProcess(options(), { preload: support('faulty-thread-exit.ts') })
  await expect(opening).rejects.toMatchObject({ exitCode: EXIT.unavailable })
  await expect(opening).rejects.toThrow(/thread ended/)
})

test('the store’s thread takes any number of requests at once', async () => {
  const thread = new Worker(fileURLToPath(new URL('../../src/store/commit-worker.ts', import.meta.url)), {
    workerData: options(),
    resourceLimits: { stackSizeMb: 1 },
  })
  const next = async () => (await once(thread, 'message'))[0] as FromWorker
  expect(await next()).toMatchObject({ kind: 'open' })
  const say = (message: ToWorker) => thread.postMessage(message)
  const reads = Array.from({ length: 200_000 }, (_, id) => ({
    id,
    read: { kind: 'task' as const, task: 'k' },
  }))
  say({ kind: 'work', commits: [], reads })
  const done = await next()
  expect(done.kind === 'done' && done.answers.length).toBe(reads.length)
  say({ kind: 'close', clean: true })
  await once(thread, 'exit')
})

test('on a full disk the journal goes without its entries, not a mark without its record', async () => {
  const limit = path.join(temporaryDirectory(), 'limit')
  fs.writeFileSync(limit, PLENTY)
  const thread = new Worker(fileURLToPath(new URL('../../src/store/commit-worker.ts', import.meta.url)), {
    workerData: options(),
    execArgv: [`--import=${support('faulty-page-limit.ts')}`],
    env: { ...process.env, TEST_PAGE_LIMIT_FILE: limit },
  })
  const next = async () => (await once(thread, 'message'))[0] as FromWorker
  expect(await next()).toMatchObject({ kind: 'open' })
  /** Commits all of them as one batch; returns what became of each. */
  const commit = async (...commits: Change[][]) => {
    thread.postMessage({ kind: 'work', commits: commits.map((changes, id) => ({ id, changes })), reads: [] })
    const { committed, failed, failure } = (await next()) as Extract<FromWorker, { kind: 'done' }>
    return { committed, failed, failure }
  }
  const large = {
    atMs: 1,
    kind: 'handover',
    task: 'k',
    token: 1n,
    data: { text: 'x'.repeat(100_000) },
  } as const
  const journal: Change = { kind: 'journal', entries: [large] }
  const raise = (token: bigint) => markChange('k', token, true)
  expect(await commit([raise(1n)], [journal])).toEqual({ committed: [0, 1], failed: [] })
  fs.writeFileSync(limit, NO_MORE)
  const failure = 'the disk that holds the store is full'
  expect(await commit([raise(2n)], [journal], [raise(3n)])).toEqual({
    committed: [0, 2],
    failed: [1],
    failure,
  })
  expect(await commit([raise(4n), journal], [journal])).toEqual({ committed: [], failed: [0, 1], failure })
  thread.postMessage({ kind: 'work', commits: [], reads: [{ id: 9, read: { kind: 'task', task: 'k' } }] })
  expect(await next()).toMatchObject({ answers: [{ result: { mark: { token: 3n } } }] })
  thread.postMessage({ kind: 'close', clean: true })
  await once(thread, 'exit')
})

test('once an erasure is answered, what was erased is nowhere in the store’s files', async () => {
  const where = options()
  const store = await openSqliteMarkStore(where, (error) => {
    throw error
  })
  const secret = `a-private-body-${'x'.repeat(9_000)}`
  const onDisk = () =>
    fs.readdirSync(where.directory).some((file) => {
      return fs.readFileSync(path.join(where.directory, file)).includes('a-private-body')
    })
  const attempt = attemptRecord('1')
  const answer = { ...ENDS.final.answer, body: Buffer.from(secret) } as const
  await store.commit([...begin(attempt), ...finish(attempt, { ...ENDS.final, answer })])
  expect(onDisk()).toBe(true)
  await store.commit([{ kind: 'erase-bodies', task: 'k' }])
  expect(onDisk()).toBe(false)
  await store.close(true)
})

test('a wall clock that steps ahead makes the store forget nothing early', async () => {
  const store = await openSqliteMarkStore(options(), (error) => {
    throw error
  })
  for (const [id, keepMs] of [
    ['kept', 60_000],
    ['expired', 0],
    ['newest', 0],
  ] as const) {
    const attempt = attemptRecord(id, id, { atMs: Date.now() - 1_000, keepMs })
    await store.commit([...begin(attempt), ...finish(attempt, ENDS.final)])
  }
  const aYearAhead = Date.now() + 365 * 24 * 3_600_000
  const pruned = await store.prune({ nowMs: aYearAhead, maxAgeMs: 0, maxRows: 0 })
  expect(pruned).toMatchObject({ operations: 1 })
  expect(await store.operation('kept')).toMatchObject({ state: 'done' })
  await store.close(true)
})
