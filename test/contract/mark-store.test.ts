/** The contract, held against each mark store; the one in memory must be fit to stand in for SQLite. */
import { EXIT, ExitError } from '../../src/errors.ts'
import { openSqliteMarkStore } from '../../src/store/sqlite-mark-store.ts'
import { initStore } from '../../src/store/store-file.ts'
import { MemoryDisk, MemoryMarkStore } from '../support/memory-mark-store.ts'
import { openInProcess } from '../support/store-process.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { markStoreContract, type Place } from './mark-store.ts'

function inMemory(floor: bigint): Place {
  const disk = new MemoryDisk(floor)
  const open = () => new MemoryMarkStore(disk, { automatic: true })
  return {
    async open(lockWaitMs = 0) {
      const deadline = performance.now() + lockWaitMs
      while (disk.holder && performance.now() < deadline) await new Promise(setImmediate)
      return open()
    },
    async openToKill() {
      const store = open()
      return { store, kill: async () => store.crash(() => false) }
    },
  }
}

function sqlite(floor: bigint): Place {
  const directory = temporaryDirectory()
  if (floor > 0n) initStore(directory, floor, 0)
  const options = { directory, create: 'if-missing', lockWaitMs: 0 } as const
  return {
    open: (lockWaitMs = 0) =>
      openSqliteMarkStore({ ...options, lockWaitMs }, (error) => {
        throw new ExitError(EXIT.invariant, `fatal in a healthy store: ${error.message}`)
      }),
    async openToKill() {
      const store = await openInProcess(options)
      return { store, kill: () => store.kill() }
    },
  }
}

markStoreContract('in memory', inMemory)
markStoreContract('SQLite', sqlite)
