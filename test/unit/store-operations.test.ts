/** What only SQLite's tables of operations can get wrong: a full disk, erasure from the file, indexes, bounded work. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { RetentionClock } from '../../src/store/retention-clock.ts'
import { openStore } from '../../src/store/store-file.ts'
import { RolledBackError, StoreTables } from '../../src/store/store-tables.ts'
import { attemptRecord, begin, ENDS, finish } from '../support/store-operations.ts'
import { temporaryDirectory } from '../support/temporary.ts'

function open(directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  return { directory, store, tables: new StoreTables(store) }
}

const ALL = { limit: 99, after: 0 }

/** Operations that one attempt each has finished. */
function finished(from: number, to: number, how: keyof typeof ENDS = 'final') {
  const ids = Array.from({ length: to - from }, (_, i) => String(from + i))
  return ids.flatMap((id) => {
    const attempt = attemptRecord(id, `op-${id}`)
    return [...begin(attempt), ...finish(attempt, ENDS[how])]
  })
}

test('a full disk keeps nothing of a batch with attempts, and forgets nothing', () => {
  const { store, tables } = open()
  const { db } = store
  const [one, two] = [attemptRecord('1', 'a'), attemptRecord('2', 'b')]
  tables.commit([...begin(one), ...finish(one, ENDS.refused), ...begin(two)])
  const told = () => [
    ...['a', 'b'].map((id) => tables.operation(id)),
    tables.attempts(ALL),
    tables.load('k'),
    tables.counts,
  ]
  const before = told()
  db.exec('PRAGMA max_page_count = 1') // Rounded up to what there is.
  const large = { ...ENDS.final, answer: { ...ENDS.final.answer, body: new Uint8Array(200_000) } } as const
  expect(() => tables.commit([...begin(attemptRecord('3', 'a')), ...finish(two, large)])).toThrow(
    RolledBackError,
  )
  expect(told()).toEqual(before)
  db.exec('PRAGMA max_page_count = 100000')
  tables.commit(finish(two, large))
  expect(tables.operation('b')?.answer?.body).toHaveLength(200_000)
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql === 'COMMIT') throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    exec(sql)
  }
  expect(tables.prune({ nowMs: 99_000, maxAgeMs: 0, maxRows: 0 })).toMatchObject({
    operations: 0,
    more: false,
  })
  db.exec = exec
  expect(tables.operation('a')).toMatchObject({ state: 'failed' })
  tables.close(true)
})

test('one call forgets a bounded part, and says whether there is more', () => {
  const { tables } = open()
  const entry = { atMs: 1_000, kind: 'handover', task: 'k', token: 1n, data: {} } as const
  tables.commit([
    ...finished(0, 600),
    { kind: 'journal', entries: Array.from({ length: 1500 }, () => entry) },
  ])
  const sizes: number[] = []
  let more = true
  while (more) {
    const pruned = tables.prune({ nowMs: 99_000, maxAgeMs: 0, maxRows: 0 })
    expect(Math.max(pruned.entries, pruned.operations, pruned.attempts)).toBeLessThanOrEqual(1000)
    sizes.push(pruned.operations)
    more = pruned.more
  }
  expect(sizes.length).toBeGreaterThan(2)
  expect(tables.operations(ALL).rows).toMatchObject([{ id: 'op-599' }])
  expect(tables.attempts(ALL).rows).toMatchObject([{ id: '599' }])
  expect(tables.journal(ALL).rows).toMatchObject([{ seq: 1500 }])
  tables.close(true)
})

test('an operation with very many attempts is forgotten piece by piece, and is on record until the last', () => {
  const { tables } = open()
  const attempts = Array.from({ length: 2500 }, (_, i) => attemptRecord(String(i), 'retried'))
  tables.commit(attempts.flatMap((attempt) => [...begin(attempt), ...finish(attempt, ENDS.refused)]))
  tables.commit(finished(9000, 9001))
  const prune = () => tables.prune({ nowMs: 99_000, maxAgeMs: 0, maxRows: 99 })
  for (let i = 0; i < 2; i++) {
    expect(prune()).toEqual({ entries: 0, operations: 0, attempts: 1000, more: true })
    expect(tables.operation('retried')).toMatchObject({ state: 'failed' })
  }
  expect(prune()).toEqual({ entries: 0, operations: 1, attempts: 500, more: false })
  tables.close(true)
})

test('a page is bounded, whatever limit is asked for', () => {
  const { tables } = open()
  tables.commit(finished(0, 1100))
  expect(tables.operations({ limit: 1e9, after: 0 }).rows).toHaveLength(1000)
  expect(tables.attempts({ limit: 1e9, after: 1000 })).toMatchObject({ next: undefined })
  expect(tables.attempts({ limit: 0, after: 0 }).rows).toHaveLength(1)
  tables.close(true)
})

test('erased bodies are nowhere in the store’s files, and neither are those of forgotten operations', () => {
  const { directory, tables } = open()
  const secrets = ['a-private-body-that-is-short', `a-private-body-of-several-pages-${'x'.repeat(9_000)}`]
  const record = (task: string, name: string) =>
    secrets.forEach((secret, i) => {
      const attempt = attemptRecord(`${name}-${i}`, `${name}-${i}`, { task })
      const answer = { ...ENDS.final.answer, body: Buffer.from(secret) } as const
      tables.commit([...begin(attempt), ...finish(attempt, { ...ENDS.final, answer })])
    })
  const onDisk = () =>
    fs
      .readdirSync(directory)
      .some((file) => fs.readFileSync(path.join(directory, file)).includes('a-private-body'))
  record('k', 'erased')
  expect(onDisk()).toBe(true)
  tables.commit([{ kind: 'erase-bodies', task: 'k' }])
  tables.checkpoint('TRUNCATE')
  expect(onDisk()).toBe(false)
  record('other', 'forgotten')
  tables.commit(finished(0, 1))
  tables.prune({ nowMs: 99_000, maxAgeMs: 0, maxRows: 0 })
  tables.checkpoint('TRUNCATE')
  expect(tables.operation('forgotten-1')).toBeUndefined()
  expect(onDisk()).toBe(false)
  tables.close(true)
})

test('no statement sorts, or looks through a table but from its end or with an index', () => {
  const { store, tables } = open()
  const { db } = store
  const statements: string[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = (sql) => {
    statements.push(sql)
    return prepare(sql)
  }
  new StoreTables(store) // Prepares all of them anew.
  const isSlow = (sql: string, step: string) =>
    /TEMP B-TREE/.test(step) ||
    (/^SCAN (operations|attempts|journal)$/.test(step) && !/ORDER BY seq/.test(sql))
  const slow = statements.filter((sql) => {
    const numbered = new Set(sql.match(/\?\d+/g) ?? []).size
    const values = Array.from({ length: numbered || (sql.match(/\?/g) ?? []).length }, () => null)
    const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values)
    return plan.some(({ detail }) => isSlow(sql, String(detail)))
  })
  expect(statements.length).toBeGreaterThan(30)
  expect(slow).toEqual([])
  tables.close(true)
})

test('retention believes what makes it keep: the earlier clock for now, the later one for what is used', () => {
  let [wall, elapsed] = [500_000, 1_000]
  const pass = (ms: number, stepMs = 0) => {
    wall += ms + stepMs
    elapsed += ms
  }
  const clock = new RetentionClock(
    Infinity,
    () => wall,
    () => elapsed,
  )
  expect(clock.believe(500_000)).toBe(500_000)
  pass(2_000)
  expect([clock.believe(wall), clock.usedMs(), clock.idleBeforeMs(wall - 100)]).toEqual([
    502_000, 502_000, 501_900,
  ])
  pass(0, 9_000_000)
  expect(clock.believe(wall), 'a step ahead').toBe(502_000)
  expect(clock.idleBeforeMs(wall - 100), 'idle for 100 ms, not for the step').toBe(501_900)
  expect(clock.usedMs()).toBe(wall)
  pass(1_000, -9_100_000)
  expect(clock.believe(wall), 'a step back').toBe(403_000)
  expect(clock.idleBeforeMs(wall - 100)).toBe(402_900)
  expect(clock.usedMs(), 'used now, as the clock was before').toBe(503_000)
  expect(clock.usedMs(wall - 100)).toBe(502_900)
})
