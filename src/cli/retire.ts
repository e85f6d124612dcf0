/** `fencegate retire`: forgets the marks of tasks that nobody uses any more, and leaves a floor in their place. */
import type { Command } from 'commander'
import { parseAge, parseFloor } from '../config/values.ts'
import { EXIT } from '../errors.ts'
import { tell } from './ask.ts'
import { type ActOptions, addActOptions, plain, show } from './control.ts'
import { counted } from './listing.ts'
import { named } from './numbers.ts'
import type { Ends } from './program.ts'

type Options = ActOptions & { readonly prefix: string; readonly idle: string; readonly floor: string }

interface Answer {
  readonly prefix: string
  readonly floor: string
  readonly retired: number
}

const EXAMPLES = `
For tasks whose names come and go, such as one a day: their marks would stay for ever. From then on every task under the
prefix that has no mark starts at the floor, so that a token below it is stale still. The floor must be at or above every
token that was granted to one of them; an idle mark above it is a reason to refuse.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate retire --prefix daily-2026- --idle 30d --floor 41000 --reason "the year is closed"`

export function addRetire(program: Command, ends: Ends): void {
  addActOptions(program.command('retire'))
    .description('Turn the marks of idle tasks into a floor for their prefix.')
    .requiredOption('--prefix <prefix>', 'how the names of these tasks begin')
    .requiredOption('--idle <duration>', 'unused for at least so long, such as 30d; not below 1h')
    .requiredOption('--floor <token>', 'at or above every token ever granted to them')
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options) => {
      const { prefix } = options
      const idleMs = named('--idle', () => parseAge(options.idle))
      const floor = named('--floor', () => parseFloor(options.floor)).toString()
      const answer = await tell<Answer>(options, '/v1/retire', { prefix, idleMs, floor })
      await show(options.json, answer, () => [
        `${counted(answer.retired, 'mark is', 'marks are')} retired.`,
        `Tasks that begin with ${plain(prefix)} and have no mark start at ${answer.floor}.`,
      ])
      ends(EXIT.ok)
    })
}
