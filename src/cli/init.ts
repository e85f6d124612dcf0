/** `fencegate init`: a new store, which is never put in another one's place. */
import type { Command } from 'commander'
import { ValueFault } from '../config/faults.ts'
import { parseFloor } from '../config/values.ts'
import { EXIT, ExitError } from '../errors.ts'
import { initStore } from '../store/store-file.ts'
import type { Token } from '../token.ts'
import { CONFIG_OPTION, type ConfigOptions, DATA_OPTION, sourcesOf } from './config-options.ts'
import type { Ends } from './program.ts'

const EXAMPLES = `
For a new resource no floor is needed. Where a store was lost, take a floor at or above every token that was
ever granted: otherwise stale holders could write again.

Exit codes: 0 done, 64 bad usage or configuration, 69 there is a store, or none can be made.

Examples:
  fencegate init --data /var/lib/fencegate
  fencegate init --config fencegate.yaml --floor 41000`

export function addInit(program: Command, ends: Ends): void {
  program
    .command('init')
    .description('Make a store for "store.create: never", and end.')
    .option(...CONFIG_OPTION)
    .option(...DATA_OPTION)
    .option('--floor <token>', 'the token at which every task starts', '0')
    .addHelpText('after', EXAMPLES)
    .action(async ({ floor: text, ...options }: ConfigOptions & { floor: string }) => {
      const floor = readFloor(text)
      const { loadStoreConfig } = await import('../config/load.ts')
      const { path, lockWaitMs } = loadStoreConfig(sourcesOf(options))
      initStore(path, floor, lockWaitMs)
      process.stdout.write(`${outcome(path, floor)}\n`)
      ends(EXIT.ok)
    })
}

function readFloor(text: string): Token {
  try {
    return parseFloor(text)
  } catch (error) {
    if (error instanceof ValueFault) throw new ExitError(EXIT.usage, `--floor: ${error.message}`)
    throw error
  }
}

function outcome(path: string, floor: Token): string {
  if (floor === 0n) return `Made a store in ${path}. No task has a mark: the first token of each sets one.`
  return (
    `Made a store in ${path}. Every task starts at ${floor}: tokens below it are stale. The first start waits ` +
    'out restartGrace before handovers complete, since the store takes the place of another.'
  )
}
