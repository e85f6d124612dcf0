/** `fencegate status`: the running sidecar at one glance. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { Status } from './api.ts'
import { ask } from './ask.ts'
import { addControlOptions, type ControlOptions, show } from './control.ts'
import { time } from './listing.ts'
import type { Ends } from './program.ts'
import { Table } from './table.ts'
import { rows, span } from './words.ts'

const EXAMPLES = `
Decisions, rejections and commits are counted since the process started. "fencegate top" shows their rates.

Exit codes: 0 it answers, whatever its phase; 64 bad usage or refused; 69 it can't be asked.

Examples:
  fencegate status
  fencegate status --json --data /var/lib/fencegate
  fencegate status --server http://127.0.0.1:8471`

export function addStatus(program: Command, ends: Ends): void {
  addControlOptions(program.command('status'))
    .description('Show whether it serves, what is open, waits, is frozen or unknown, and what it decided.')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ControlOptions) => {
      const status = await ask<Status>(options, '/v1/status')
      await show(options.json, status, () => described(status))
      ends(EXIT.ok)
    })
}

function described(status: Status): string[] {
  const { openWrites, oldestOpenWriteMs, unresolved, commits } = status
  const oldest = oldestOpenWriteMs === undefined ? '' : `, the oldest for ${span(oldestOpenWriteMs)}`
  const mean = commits.count === 0 ? '' : `, ${(commits.sumMs / commits.count).toFixed(1)} ms each`
  return [
    ...rows([
      ['fencegate', `${status.version}, ${status.phase}${status.grace ? ', waiting out restartGrace' : ''}`],
      ['started', `${time(status.startedAtMs)}, ${span(status.nowMs - status.startedAtMs)} ago`],
      ...status.upstreams.map(({ origin, state }) => ['upstream', `${origin} ${state}`] as const),
      ['tasks', `${status.tasks}, ${status.frozen} frozen`],
      ['open writes', `${openWrites}${oldest}`],
      ['handovers', `${status.handoversPending} pending`],
      ['unknown', `${unresolved}${unresolved > 0 ? ' (see fencegate unknown)' : ''}`],
      ['stale rejections', String(status.staleRejections)],
      ['raises', String(status.raises)],
      ['commits', `${commits.count}${mean}, sequence ${status.commitSequence}`],
    ]),
    ...decisions(status),
  ]
}

function decisions({ decisions }: Status): string[] {
  if (decisions.length === 0) return []
  const table = new Table(['ROUTE', 'DECISION', 'COUNT'])
  const lines = table.lines(decisions.map(({ route, decision, count }) => [route, decision, count]))
  return ['', lines.trimEnd()]
}
