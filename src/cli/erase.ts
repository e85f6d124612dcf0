/** `fencegate erase`: takes the recorded answers' bodies of a task off the disk; what was attempted stays on record. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import { act, openWrite } from './acts.ts'
import type { ActAnswer } from './api.ts'
import { type ActOptions, addActOptions, show } from './control.ts'
import type { Ends } from './program.ts'

const EXAMPLES = `
Erases the bodies of recorded answers. Operations, attempts and statuses stay on record, and so does this act: a
repeat of an operation is still not sent, and is told 409 "operation-done" with the status. Backups are not reached.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate erase settlement-42 --reason "erasure request 118"
  fencegate erase settlement-42 --reason "erasure request 118" --by ana --json`

export function addErase(program: Command, ends: Ends): void {
  addActOptions(program.command('erase <task>'))
    .description("Erase the recorded answers' bodies of a task.")
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: ActOptions) => {
      const answer = await act(task, 'erase', options)
      await show(options.json, answer, () => described(task, answer))
      ends(EXIT.ok)
    })
}

function described(task: string, { open }: ActAnswer): string[] {
  const done = `The recorded answers' bodies of ${task} are erased.`
  if (open.length === 0) return [done]
  return [
    done,
    'Still open, and their answers are kept when they come: erase again then.',
    ...open.map(openWrite),
  ]
}
