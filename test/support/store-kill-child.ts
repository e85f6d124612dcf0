/**
 * A process that lives to be killed: records rising tokens of some tasks, many at once, and writes down on
 * its standard output, a file, what it asked for before it asks, and what was acknowledged after it was.
 *
 * `? task token complete` asked, `! task token complete` acknowledged; so too `i?` and `i!` with the id of an
 * intent, which shares the mark's commit with an attempt of the operation of the same id, and `e?` and `e!` with
 * an id and how its write ended. All survive it, as the kernel holds what was written.
 */
import fs from 'node:fs'
import type { AttemptRecord } from '../../src/journal/operations.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import type { Token } from '../../src/token.ts'
import { markChange, markOf, writeRecord } from './store-changes.ts'
import { attemptRecord, ENDS, finish } from './store-operations.ts'
import { seededRandom } from './store-random.ts'

const TASKS = Array.from({ length: 12 }, (_, i) => `task-${i}`)
/** Then it waits for its end: a test that is slow to come must not find more than it can look through. */
const MAX_WRITES = 20_000

/** Records under way at once: enough for checkpoints to fall into the short life of the process. */
const LANES = 128

const [directory, seed] = process.argv.slice(2) as [string, string]
const random = seededRandom(Number(seed))

const note = (line: string) => fs.writeSync(1, `${line}\n`)

process.once('disconnect', () => process.exit()) // Never outlives the test.

const store = await openSqliteMarkStore(
  { directory, create: 'if-missing', lockWaitMs: 10_000, intentsComplete: false },
  (error) => {
    throw error
  },
)
process.send?.({ unclean: store.origin.unclean })

const highest = new Map<string, Token>()
for (const task of TASKS) highest.set(task, (await markOf(store, task)).token)

let writes = 0

/** Raises a mark and announces a write in one commit, and ends the write in another, or not. */
async function lane(): Promise<void> {
  while (writes < MAX_WRITES) {
    const task = TASKS[Math.floor(random() * TASKS.length)] as string
    const token = (highest.get(task) as Token) + 1n
    highest.set(task, token)
    const complete = random() < 0.5
    const what = `${task} ${token} ${complete}`
    const write = writeRecord(`${process.pid}-${seed}-${writes++}`, { task, token })
    note(`? ${what}\ni? ${write.id}`)
    const attempt = attemptRecord(write.id, write.id, { task, token })
    await store.commit([
      markChange(task, token, complete),
      { kind: 'intent', write },
      { kind: 'attempt', attempt },
    ])
    note(`! ${what}\ni! ${write.id}`)
    const end = random()
    if (end < 0.4) await ended(attempt, 'ended')
    else if (end < 0.8) await ended(attempt, 'unknown')
  }
}

async function ended(attempt: AttemptRecord, how: 'ended' | 'unknown'): Promise<void> {
  note(`e? ${attempt.id} ${how}`)
  await store.commit(finish(attempt, how === 'ended' ? ENDS.final : ENDS.unknown))
  note(`e! ${attempt.id} ${how}`)
}

await Promise.all(Array.from({ length: LANES }, lane))
