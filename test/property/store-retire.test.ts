/**
 * Whatever is raised, used, frozen, given a floor and retired, and wherever a commit fails or the store is opened anew: the
 * token at which a task stands never goes down, but by a reset, and is never below a floor of its name where it has no mark.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Change } from '../../src/store/mark-store.ts'
import { openStore } from '../../src/store/store-file.ts'
import { RolledBackError, StoreTables } from '../../src/store/store-tables.ts'
import type { Token } from '../../src/token.ts'
import { markChange, TIMED_OUT, writeRecord } from '../support/store-changes.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const TASKS = ['a', 'a/1', 'a/2', 'b', 'b/1', 'A/1']
const LATER_MS = 8_000_000_000_000

const task = fc.constantFrom(...TASKS)
const token = fc.oneof(
  fc.bigInt({ min: 1n, max: 6n }),
  fc.bigInt({ min: 2n ** 63n - 3n, max: 2n ** 63n - 1n }),
)
const id = fc.constantFrom('1', '2')

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(task, token, fc.boolean()).map((of): Change => markChange(...of)) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('floor' as const),
      prefix: fc.constantFrom('', 'a', 'a/', 'b/', 'c'),
      floor: fc.oneof(fc.constant(0n), token),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('retired' as const),
      tasks: fc.uniqueArray(task, { maxLength: 6 }),
      beforeMs: fc.constantFrom(0, LATER_MS, LATER_MS + 2),
      floor: token,
    }),
  },
  fc.record({
    kind: fc.constant('used' as const),
    tasks: fc.array(task, { maxLength: 3 }),
    atMs: fc.constantFrom(0, LATER_MS + 1),
  }),
  fc.record({ kind: fc.constant('frozen' as const), task, frozen: fc.boolean() }),
  fc.tuple(id, task).map(([id, task]): Change => ({ kind: 'intent', write: writeRecord(id, { task }) })),
  id.map((id): Change => ({ kind: 'ended', id })),
  fc.tuple(id, task).map(([id, task]): Change => {
    return { kind: 'unknown', write: writeRecord(id, { task }), end: TIMED_OUT }
  }),
  id.map(
    (id): Change => ({ kind: 'resolved', id, resolution: 'applied', by: 'ops', note: 'why', atMs: 3_000 }),
  ),
  fc.record({ kind: fc.constant('reset' as const), task, to: token }),
)

type Step = { readonly batch: readonly Change[]; readonly how: 'go on' | 'fails' | 'restart' }

const step: fc.Arbitrary<Step> = fc.record({
  batch: fc.array(change, { minLength: 1, maxLength: 4 }),
  how: fc.constantFrom('go on', 'go on', 'go on', 'fails', 'restart'),
})

function open(directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  store.db.exec('PRAGMA synchronous = OFF') // Nobody pulls the plug here.
  return { directory, store, tables: new StoreTables(store) }
}

test('retiring marks never lowers where a task stands', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 15 }), (steps) => {
      let { directory, store, tables } = open()
      const disk = new MemoryDisk()
      disk.open({}, false)
      const highest = new Map<string, Token>()
      for (const { batch, how } of steps) {
        if (how === 'fails') {
          failing(store, tables, batch)
        } else {
          tables.commit(batch)
          disk.commit(batch)
        }
        if (how === 'restart') {
          tables.close(false)
          ;({ store, tables } = open(directory))
          disk.close(false)
          disk.open({}, false)
        }
        const isReset = new Set(batch.flatMap((change) => (change.kind === 'reset' ? change.task : [])))
        for (const task of TASKS) {
          const { mark } = tables.load(task)
          expect(mark).toEqual(disk.mark(task))
          if (!isReset.has(task)) expect(mark.token).toBeGreaterThanOrEqual(highest.get(task) ?? 0n)
          if (!mark.recorded) expect(mark.token).toBe(disk.floorOf(task))
          highest.set(task, mark.token)
        }
        expect(tables.counts.tasks).toBe(disk.marks.size)
        expect(tables.state().floors).toEqual(disk.state.floors)
      }
      tables.close(true)
    }),
    { numRuns: 60 },
  )
})

/** Commits it on a disk that turns out to be full at the end. */
function failing(
  store: ReturnType<typeof open>['store'],
  tables: StoreTables,
  batch: readonly Change[],
): void {
  const { exec } = store.db
  store.db.exec = (sql) => {
    if (sql === 'COMMIT') throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    exec.call(store.db, sql)
  }
  try {
    expect(() => tables.commit(batch)).toThrow(RolledBackError)
  } finally {
    store.db.exec = exec
  }
}
