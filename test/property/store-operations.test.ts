/**
 * Operations, attempts and the journal in SQLite, against a toy model that keeps what happened and tells each
 * operation's state from that; restarts, pruning and erasure among the changes.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AttemptRecord, ListedAttempt } from '../../src/journal/operations.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import type { Token } from '../../src/token.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'
import { allPages, attemptRecord, begin, ENDS, finish, resolved } from '../support/store-operations.ts'
import { temporaryDirectory } from '../support/temporary.ts'

function open(directory = temporaryDirectory()) {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  store.db.exec('PRAGMA synchronous = OFF') // Nobody pulls the plug here.
  return { directory, db: store.db, tables: new StoreTables(store) }
}

const OPERATIONS = ['a', 'b', 'c']
const TASKS = ['k', 'other', 'k'] // Of the operations of the same index.
const ATTEMPTS = 12

const attempt: fc.Arbitrary<AttemptRecord> = fc
  .record({
    id: fc.nat({ max: ATTEMPTS - 1 }),
    token: fc.constantFrom(undefined, 8n, 2n ** 63n - 1n),
    atMs: fc.nat(2_000),
    keepMs: fc.nat(500),
    keyLifetimeMs: fc.option(fc.nat(600), { nil: undefined }),
  })
  .map(({ id, ...fields }) => {
    const of = id % OPERATIONS.length
    return attemptRecord(String(id), OPERATIONS[of], { ...fields, task: TASKS[of] as string })
  })
const end = fc.constantFrom(...Object.values(ENDS))

type Step =
  | { readonly kind: 'commit'; readonly changes: readonly Change[] }
  | { readonly kind: 'restart' }
  | { readonly kind: 'prune'; readonly nowMs: number; readonly maxRows: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .oneof(
        attempt.map(begin),
        fc.tuple(attempt, end).map(([attempt, end]) => finish(attempt, end)),
        fc.tuple(attempt, end).map(([attempt, end]) => [...begin(attempt), ...finish(attempt, end)]),
        fc
          .tuple(fc.nat({ max: ATTEMPTS - 1 }), fc.constantFrom('applied', 'not-applied', 'compensated'))
          .map(([id, resolution]) => [resolved(String(id), resolution)]),
        fc.constantFrom(...TASKS).map((task): Change[] => [{ kind: 'erase-bodies', task }]),
      )
      .map((changes) => ({ kind: 'commit' as const, changes })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('prune' as const), nowMs: fc.nat(4_000), maxRows: fc.nat(4) }),
  },
)

type Told = Pick<StoreTables, 'operation' | 'operations' | 'attempts' | 'journal' | 'load' | 'counts'>

const asTables = (disk: MemoryDisk): Told => ({
  operation: (id) => disk.operations.one(id),
  operations: (query) => disk.operations.operations(query),
  attempts: (query) => disk.operations.attempts(query),
  journal: (query) => disk.journal.list(query),
  load: (task) => disk.task(task),
  counts: disk.counts,
})

/** All that a store says, with restarts at no particular time. */
async function told(store: Told) {
  const states = [undefined, 'open', 'failed', 'unknown', 'done'] as const
  const timeless = (attempt: ListedAttempt) =>
    attempt.reason === 'restart' ? { ...attempt, endedAtMs: 'the start' } : attempt
  const attempts = async (query: { task?: string; token?: Token }) =>
    (await allPages((after) => store.attempts({ ...query, limit: 3, after }))).map(timeless)
  return {
    each: OPERATIONS.map((id) => store.operation(id)),
    operations: await Promise.all(
      states.map((state) => allPages((after) => store.operations({ state, limit: 2, after }))),
    ),
    attempts: await attempts({}),
    ofTask: await attempts({ task: 'k', token: 8n }),
    journal: await allPages((after) => store.journal({ limit: 99, after })),
    held: TASKS.map((task) => store.load(task).held),
    unresolved: store.counts.unresolved,
  }
}

test('whatever happens to operations, the store says of them what a toy model does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      let { directory, tables } = open()
      const disk = new MemoryDisk()
      disk.open({}, false)
      try {
        for (const step of steps) {
          if (step.kind === 'commit') {
            tables.commit(step.changes)
            disk.commit(step.changes)
          } else if (step.kind === 'prune') {
            const limits = { nowMs: step.nowMs, maxAgeMs: 500, maxRows: step.maxRows }
            expect(tables.prune(limits)).toEqual(disk.prune(limits))
          } else {
            tables.close(false)
            tables = open(directory).tables
            disk.open({}, false)
          }
          expect(await told(tables)).toEqual(await told(asTables(disk)))
        }
      } finally {
        tables.close(true)
      }
    }),
    { numRuns: 100 },
  )
})
