/**
 * A process that lives to be killed: records rising tokens of some tasks, many at once, and writes down on
 * its standard output, a file, what it asked for before it asks, and what was acknowledged after it was.
 *
 * `? task token complete` asked, `! task token complete` acknowledged. Both survive it, as the kernel holds
 * what was written.
 */
import fs from 'node:fs'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import type { Token } from '../../src/token.ts'
import { markOf, record } from './store-changes.ts'
import { seededRandom } from './store-random.ts'

const TASKS = Array.from({ length: 12 }, (_, i) => `task-${i}`)
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

async function lane(): Promise<never> {
  for (;;) {
    const task = TASKS[Math.floor(random() * TASKS.length)] as string
    const token = (highest.get(task) as Token) + 1n
    highest.set(task, token)
    const what = `${task} ${token} ${random() < 0.5}`
    note(`? ${what}`)
    await record(store, task, token, what.endsWith('true'))
    note(`! ${what}`)
  }
}

await Promise.all(Array.from({ length: LANES }, lane))
