/** `fencegate unknown | resolve`: writes whose outcome nobody knows, and what somebody found out. */
import { type Command, Option } from 'commander'
import { EXIT } from '../errors.ts'
import {
  type ActOptions,
  addActOptions,
  addControlOptions,
  ask,
  type ControlOptions,
  plain,
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
      const { unknown } = await ask<{ unknown: Unknown[] }>(options, 'GET', `/v1/unknown?limit=${limit}`)
      const text = options.json ? JSON.stringify(unknown) : unknown.map(described).join('\n')
      process.stdout.write(`${text || 'No outcome is unknown.'}\n`)
      ends(EXIT.ok)
    })
  addActOptions(program.command('resolve <id>'))
    .description('Say what became of a write whose outcome was unknown.')
    .addOption(
      new Option('--as <resolution>', 'what was found out').choices(RESOLUTIONS).makeOptionMandatory(),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: ActOptions & { as: string }) => {
      const { by, reason, as: resolution } = options
      const target = `/v1/unknown/${encodeURIComponent(id)}/resolve`
      const answer = await ask<Unknown>(options, 'POST', target, { by, reason, resolution })
      const text = `Record ${id} of task ${answer.task} is resolved as ${resolution}.`
      process.stdout.write(`${options.json ? JSON.stringify(answer) : text}\n`)
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
