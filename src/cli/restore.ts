/** `fencegate restore`: makes a store of a backup, where none is, while no sidecar runs. */
import path from 'node:path'
import type { Command } from 'commander'
import { parseTokenValue } from '../config/values.ts'
import { EXIT } from '../errors.ts'
import type { Restored } from '../store/store-file.ts'
import { userName } from './ask.ts'
import { CONFIG_OPTION, type ConfigOptions, DATA_OPTION, sourcesOf } from './config-options.ts'
import { JSON_OPTION, plain, show } from './control.ts'
import { counted } from './listing.ts'
import { named } from './numbers.ts'
import type { Ends } from './program.ts'

interface Options extends ConfigOptions {
  readonly floor: string
  readonly reason: string
  readonly by?: string
  readonly json?: true
}

const EXAMPLES = `
What was recorded since the backup is lost, so the floor is required: at or above every token ever granted. Every mark is
raised to it, so that holders from before are stale. Freezes, operations and unknown outcomes are as they were in the
backup; writes that were open in it are unknown. The first start waits out restartGrace, as after an unclean stop.

Stop the sidecar first. A store in its place is never replaced: move its marks.db, with its marks.db-wal, away.

Exit codes: 0 done, 64 bad usage or a floor below a mark in the backup, 69 the backup is damaged, the sidecar still runs, or
the store can't be written.

Examples:
  fencegate restore /backup/fencegate-2026-11-30.db --floor 41000 --reason "the volume was lost"
  fencegate restore ./before-upgrade.db --floor 41000 --data /var/lib/fencegate --reason "back to 0.1" --json`

export function addRestore(program: Command, ends: Ends): void {
  program
    .command('restore <file>')
    .description('Make a store of a backup, where none is.')
    .requiredOption('--floor <token>', 'at or above every token ever granted')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--by <name>', "who, for the record (default: the user's name)")
    .option(...CONFIG_OPTION)
    .option(...DATA_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, { floor: text, reason, by = userName(), json, ...options }: Options) => {
      const floor = named('--floor', () => parseTokenValue(text))
      const file = path.resolve(name)
      const { loadStoreConfig } = await import('../config/load.ts')
      const { path: directory, lockWaitMs } = loadStoreConfig(sourcesOf(options))
      const { restoreStore } = await import('../store/store-file.ts')
      const restored = restoreStore(directory, { file, floor, by, reason }, lockWaitMs)
      await show(json, { file, directory, floor: String(floor), ...restored }, () => [
        `Restored ${plain(file)} into ${plain(directory)}: ${described(restored)}.`,
        `Every task starts at ${floor} or above: tokens below it are stale. The first start waits out restartGrace.`,
      ])
      ends(EXIT.ok)
    })
}

function described({ tasks, unresolved }: Restored): string {
  return `${counted(tasks, 'task', 'tasks')}, ${counted(unresolved, 'unresolved outcome', 'unresolved outcomes')}`
}
