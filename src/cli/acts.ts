/** `fencegate freeze | thaw | raise`: an operator's acts on one task. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { ActAnswer, OpenWrite } from './api.ts'
import { tell } from './ask.ts'
import { type ActOptions, addActOptions, plain, show, taskPath } from './control.ts'
import type { Ends } from './program.ts'

type TokenOptions = ActOptions & { readonly token?: string }

const EXAMPLES = `
Each answers once it is durable, and lists the writes that are still open.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate freeze settlement-42 --reason "two exports, see INC-7"
  fencegate thaw settlement-42 --token 51 --reason "worker B elected"
  fencegate raise settlement-42 --token 51 --reason "worker A is known dead"`

export function addActs(program: Command, ends: Ends): void {
  addActOptions(program.command('freeze <task>'))
    .description('Refuse all writes of a task until it is thawed.')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: ActOptions) => {
      await tellDone(options, `${task} is frozen.`, await act(task, 'freeze', options))
      ends(EXIT.ok)
    })
  addActOptions(program.command('thaw <task>'))
    .description("Let a task's writes through again, with --token those of the elected holder.")
    .option('--token <token>', 'raise to this token in the same commit')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: TokenOptions) => {
      const passes = options.token === undefined ? '' : ` Tokens below ${options.token} are stale.`
      await tellDone(options, `${task} is thawed.${passes}`, await act(task, 'thaw', options))
      ends(EXIT.ok)
    })
  addActOptions(program.command('raise <task>'))
    .description("Raise a task's mark: tokens below it are stale.")
    .requiredOption('--token <token>', 'the lowest token that passes from now on')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: TokenOptions) => {
      await tellDone(options, `The mark of ${task} is ${options.token}.`, await act(task, 'raise', options))
      ends(EXIT.ok)
    })
}

export function act(task: string, name: string, options: TokenOptions): Promise<ActAnswer> {
  return tell(options, taskPath(task, name), { token: options.token })
}

async function tellDone({ json }: ActOptions, done: string, answer: ActAnswer): Promise<void> {
  await show(json, answer, () => [done, ...stillOpen(answer)])
}

export function stillOpen({ open }: Pick<ActAnswer, 'open'>): string[] {
  if (open.length === 0) return ['No write is open.']
  return ['Still open, and not stopped by this:', ...open.map(openWrite)]
}

export function openWrite({ route, method, target, token, ageMs }: OpenWrite): string {
  return `  token ${token}  ${method} ${plain(target)}  route ${route}  open for ${(ageMs / 1000).toFixed(1)} s`
}
