/** The contract, held against each mark store; the one in memory must be fit to stand in for SQLite. */
import { EXIT, ExitError } from '../../src/errors.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import { initStore } from '../../src/store/store-file.ts'
import { MemoryMarkStore } from '../support/memory-mark-store.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'
import { openInProcess } from '../support/store-process.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { markStoreContract, type Opening, type Place } from './mark-store.ts'
import { journalContract } from './mark-store-journal.ts'
import { lifeContract } from './mark-store-life.ts'
import { operationsContract } from './mark-store-operations.ts'
import { recordsContract } from './mark-store-records.ts'

function inMemory(floor: bigint): Place {
  const disk = new MemoryDisk(floor)
  const open = ({ intentsComplete = false }: Opening) =>
    new MemoryMarkStore(disk, { automatic: true, intentsComplete })
  return {
    async open(opening = {}) {
      const deadline = performance.now() + (opening.lockWaitMs ?? 0)
      while (disk.user && performance.now() < deadline) await new Promise(setImmediate)
      return open(opening)
    },
    async openToKill(opening = {}) {
      const store = open(opening)
      return { store, kill: async () => store.crash(() => false) }
    },
  }
}

function sqlite(floor: bigint): Place {
  const directory = temporaryDirectory()
  if (floor > 0n) initStore(directory, floor, 0)
  const options = { directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false } as const
  return {
    open: (opening) =>
      openSqliteMarkStore({ ...options, ...opening }, (error) => {
        throw new ExitError(EXIT.invariant, `fatal in a healthy store: ${error.message}`)
      }),
    async openToKill(opening) {
      const store = await openInProcess({ ...options, ...opening })
      return { store, kill: () => store.kill() }
    },
  }
}

for (const contract of [
  markStoreContract,
  recordsContract,
  operationsContract,
  journalContract,
  lifeContract,
]) {
  contract('in memory', inMemory)
  contract('SQLite', sqlite)
}
