/** A process that opens a store, or restores one, and ends: to be killed on the way. */
import { openStore, restoreStore } from '../../src/store/store-file.ts'

const [what, directory, file] = process.argv.slice(2) as [string, string, string]

if (what === 'restore') restoreStore(directory, { file, floor: 40n, by: 'ops', reason: 'why' }, 10_000)
else openStore({ directory, create: 'never', lockWaitMs: 10_000, intentsComplete: true })
