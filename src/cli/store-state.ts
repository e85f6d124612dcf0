/** `fencegate store`: the state of the store in use: what it holds, how large it is, and what it found at its start. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { StoreAnswer } from './api.ts'
import { ask } from './ask.ts'
import { addControlOptions, type ControlOptions, show } from './control.ts'
import { time } from './listing.ts'
import type { Ends } from './program.ts'
import { rows, size } from './words.ts'

const EXAMPLES = `
A commit sequence below one that was seen before is a store that was rolled back.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate store
  fencegate store --json --data /var/lib/fencegate`

export function addStore(program: Command, ends: Ends): void {
  addControlOptions(program.command('store'))
    .description('Show the state of the store: counts, sizes, floors, how its last start found it.')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ControlOptions) => {
      const store = await ask<StoreAnswer>(options, '/v1/store')
      await show(options.json, store, () => described(store))
      ends(EXIT.ok)
    })
}

function described(store: StoreAnswer): string[] {
  const start = store.created
    ? 'made by this start'
    : store.unclean
      ? 'after an unclean stop'
      : 'after a clean stop'
  return rows([
    ['path', store.path],
    ['schema', String(store.schema)],
    ['created', time(store.createdAtMs)],
    ['opened', start],
    ['tasks', `${store.tasks}, ${store.frozen} frozen`],
    ['unknown outcomes', String(store.unresolved)],
    ['commit sequence', String(store.commitSequence)],
    ['size', `${size(store.bytes)}, log ${size(store.walBytes)}, free on the disk ${size(store.freeBytes)}`],
    ['floor', store.floor],
    ...store.floors.map(({ prefix, floor }) => [`floor of ${prefix}*`, floor] as const),
  ])
}
