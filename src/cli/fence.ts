/** `fencegate fence`: shuts the present holder out, and says from which token on the next one passes. */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../errors.ts'
import { stillOpen } from './acts.ts'
import type { ActAnswer, Entry, TaskPage } from './api.ts'
import { askAt, tellAt } from './ask.ts'
import { type ActOptions, addActOptions, plain, show, taskPath } from './control.ts'
import { type Endpoint, endpointOf } from './endpoint.ts'
import type { Ends } from './program.ts'

type Options = ActOptions & { readonly token?: string }

const EXAMPLES = `
Freezes the task and raises its mark by exactly one, in one commit: whoever holds the token is out for good, also after
the thaw. Without --token it is the mark of this moment that is fenced out; with it, the mark must be that one. Once is
enough: a repeat finds that it is done.

Exit codes: 0 done, 64 bad usage or refused (the mark is another one by now), 69 the sidecar can't be asked.

Examples:
  fencegate fence settlement-42 --reason "two exports, see INC-7"
  fencegate fence settlement-42 --token 50 --reason "worker A is paused, not dead"
  fencegate thaw settlement-42 --reason "worker B has token 51"`

export function addFence(program: Command, ends: Ends): void {
  addActOptions(program.command('fence <task>'))
    .description("Freeze a task and make its present holder's token stale.")
    .option('--token <token>', "the token to fence out: the task's mark as you know it")
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: Options) => {
      const endpoint = endpointOf(options)
      const token = options.token ?? (await presentToken(endpoint, task))
      const answer = await tellAt<ActAnswer>(endpoint, options, taskPath(task, 'fence'), { token })
      await show(options.json, answer, () => [
        `${plain(task)} is frozen, and token ${token} is fenced out: the mark is ${answer.mark}.`,
        `Once thawed, ${answer.passes} is the lowest token that passes.`,
        ...stillOpen(answer),
      ])
      ends(EXIT.ok)
    })
}

/** The mark; or, where the last act was to fence it out, the one below, so that a repeat changes nothing. */
async function presentToken(endpoint: Endpoint, task: string): Promise<string> {
  const { mark, recorded, frozen } = await askAt<TaskPage>(endpoint, taskPath(task))
  if (!recorded) {
    throw new ExitError(
      EXIT.usage,
      `no token of ${plain(task)} is on record, so there is none to fence out: freeze it, or name one with --token`,
    )
  }
  if (!frozen) return mark
  const query = new URLSearchParams({ task, kind: 'act', order: 'newest', limit: '1' })
  const { journal } = await askAt<{ journal: Entry[] }>(endpoint, `/v1/journal?${query}`)
  const [last] = journal
  const isFenced = last?.data.act === 'fence' && last.token === mark
  return isFenced ? (BigInt(mark) - 1n).toString() : mark
}
