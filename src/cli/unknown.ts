/** `fencegate unknown | resolve`: writes whose outcome nobody knows, and what somebody found out. */
import { type Command, Option } from 'commander'
import { EXIT } from '../errors.ts'
import { ask, tell } from './ask.ts'
import {
  type ActOptions,
  addActOptions,
  addControlOptions,
  type ControlOptions,
  plain,
  show,
} from './control.ts'
import type { Ends } from './program.ts'

interface Unknown {
  readonly id: string
  readonly task: string
  readonly token: string
  readonly holder?: string
  readonly holds: boolean
  readonly route: string
  readonly method: string
  readonly target: string
  readonly operation?: string
  readonly reason: string
  readonly endedAtMs: number
}

const RESOLUTIONS = ['applied', 'not-applied', 'compensated']

const EXAMPLES = `
Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate unknown
  fencegate resolve 0b9e... --as applied --reason "the ledger has it"`

export function addUnknown(program: Command, ends: Ends): void {
  addControlOptions(program.command('unknown'))
    .description('List the writes whose outcome is unknown and unresolved, oldest first.')
    .option('--limit <n>', 'how many, at most', '100')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ControlOptions & { limit: string }) => {
      const limit = encodeURIComponent(options.limit)
      const { unknown } = await ask<{ unknown: Unknown[] }>(options, `/v1/unknown?limit=${limit}`)
      await show(options.json, unknown, () =>
        unknown.length > 0 ? unknown.map(described) : ['No outcome is unknown.'],
      )
      ends(EXIT.ok)
    })
  addActOptions(program.command('resolve <id>'))
    .description('Say what became of a write whose outcome was unknown.')
    .addOption(
      new Option('--as <resolution>', 'what was found out').choices(RESOLUTIONS).makeOptionMandatory(),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: ActOptions & { as: string }) => {
      const { as: resolution } = options
      const target = `/v1/unknown/${encodeURIComponent(id)}/resolve`
      const answer = await tell<Unknown>(options, target, { resolution })
      await show(options.json, answer, () => [
        `Record ${plain(id)} of task ${answer.task} is resolved as ${resolution}.`,
      ])
      ends(EXIT.ok)
    })
}

function described(write: Unknown): string {
  const { id, task, token, holder, holds, route, method, target, operation, reason, endedAtMs } = write
  return [
    `${id}  ${new Date(endedAtMs).toISOString()}  ${reason}${holds ? '  holds the next token out' : ''}`,
    `  task ${task}  token ${token}${holder ? `  holder ${holder}` : ''}`,
    `  ${method} ${target}  route ${route}${operation ? `  operation ${operation}` : ''}`,
  ]
    .map(plain)
    .join('\n')
}
