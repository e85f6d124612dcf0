/** `fencegate freeze | thaw | raise`: an operator's acts on one task. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import { type ActOptions, addActOptions, ask, plain } from './control.ts'
import type { Ends } from './program.ts'

/** What an act answers: the task's writes that are still open. */
export interface Answer {
  readonly open: { route: string; method: string; target: string; token: string; ageMs: number }[]
}

type TokenOptions = ActOptions & { readonly token?: string }

const EXAMPLES = `
Each answers once it is durable, and lists the writes that are still open.

Examples:
  fencegate freeze settlement-42 --reason "two exports, see INC-7"
  fencegate thaw settlement-42 --token 51 --reason "worker B elected"
  fencegate raise settlement-42 --token 51 --reason "worker A is known dead"`

export function addActs(program: Command, ends: Ends): void {
  addActOptions(program.command('freeze <task>'))
    .description('Refuse all writes of a task until it is thawed.')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: ActOptions) => {
      print(options, `${task} is frozen.`, await act(task, 'freeze', options))
      ends(EXIT.ok)
    })
  addActOptions(program.command('thaw <task>'))
    .description("Let a task's writes through again, with --token those of the elected holder.")
    .option('--token <token>', 'raise to this token in the same commit')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: TokenOptions) => {
      const passes = options.token === undefined ? '' : ` Tokens below ${options.token} are stale.`
      print(options, `${task} is thawed.${passes}`, await act(task, 'thaw', options))
      ends(EXIT.ok)
    })
  addActOptions(program.command('raise <task>'))
    .description("Raise a task's mark: tokens below it are stale.")
    .requiredOption('--token <token>', 'the lowest token that passes from now on')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: TokenOptions) => {
      print(options, `The mark of ${task} is ${options.token}.`, await act(task, 'raise', options))
      ends(EXIT.ok)
    })
}

export function act(task: string, name: string, options: TokenOptions): Promise<Answer> {
  const { by, reason, token } = options
  return ask(options, 'POST', `/v1/tasks/${encodeURIComponent(task)}/${name}`, { by, reason, token })
}

function print({ json }: ActOptions, done: string, answer: Answer): void {
  if (json) return void process.stdout.write(`${JSON.stringify(answer)}\n`)
  const open = answer.open.map(openWrite)
  const rest =
    open.length === 0 ? 'No write is open.' : `Still open, and not stopped by this:\n${open.join('\n')}`
  process.stdout.write(`${done}\n${rest}\n`)
}

export function openWrite({ route, method, target, token, ageMs }: Answer['open'][number]): string {
  return `  token ${token}  ${method} ${plain(target)}  route ${route}  open for ${(ageMs / 1000).toFixed(1)} s`
}
