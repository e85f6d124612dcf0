/** `fencegate reset`: sets a poisoned mark lower, in two steps, since it breaks the order that the sidecar promises. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { ActAnswer, ResetAnswer } from './api.ts'
import { tell } from './ask.ts'
import { type ActOptions, addActOptions, plain, show, taskPath } from './control.ts'
import type { Ends } from './program.ts'
import { shellWord, span } from './words.ts'

type Options = ActOptions & { readonly to: string; readonly confirm?: string }

const EXAMPLES = `
For a mark that a mistake has raised far above every token that will be granted. It breaks promise P1: tokens between the
new mark and the old one pass again, so every holder of one must be known dead, or fenced elsewhere, before.
First freeze the task, wait until nothing is open, and resolve what is unknown; after it, thaw the task.

Without --confirm nothing changes: the answer is the code, which holds for five minutes and for this mark.

Exit codes: 0 done, or the code is shown; 64 bad usage or refused; 69 the sidecar can't be asked.

Examples:
  fencegate reset settlement-42 --to 51 --reason "token 9e18 was a typing error, INC-7"
  fencegate reset settlement-42 --to 51 --reason "token 9e18 was a typing error, INC-7" --confirm 4F7K2P`

export function addReset(program: Command, ends: Ends): void {
  addActOptions(program.command('reset <task>'))
    .description('Set a poisoned mark lower. Breaks the order of writes: read --help first.')
    .requiredOption('--to <token>', 'the new mark: the lowest token that passes then')
    .option('--confirm <code>', 'the code that the first step gave')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: Options) => {
      const { to, confirm } = options
      const path = taskPath(task, 'reset')
      if (confirm === undefined) {
        const asked = await tell<ResetAnswer>(options, path, { to })
        await show(options.json, asked, () => firstStep(task, options, asked))
      } else {
        const answer = await tell<ActAnswer>(options, path, { to, confirm })
        await show(options.json, answer, () => [
          `The mark of ${plain(task)} is ${answer.mark}, on record as a break of P1. It is frozen still.`,
          `Once thawed, ${answer.passes} is the lowest token that passes.`,
        ])
      }
      ends(EXIT.ok)
    })
}

function firstStep(task: string, options: Options, { mark, to, confirm, expiresInMs, warning }: ResetAnswer) {
  return [
    `Nothing has changed yet. The mark of ${plain(task)} would go from ${mark} down to ${to}.`,
    '',
    `Warning: ${plain(warning)}`,
    '',
    `To do it, within ${span(expiresInMs)}:`,
    `  ${again(task, { ...options, confirm })}`,
  ]
}

/** The command as it was given, with the code. */
function again(task: string, options: Options): string {
  const { config, data, server, tokenFile, to, by, reason, confirm } = options
  const given = { to, reason, by, confirm, config, data, server, 'token-file': tokenFile }
  const words = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(value)],
  )
  return ['fencegate reset', shellWord(task), ...words].join(' ')
}
