/** `fencegate task`: one task whole, for whoever has to decide about it now. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { Entry, TaskPage } from './api.ts'
import { ask } from './ask.ts'
import { addControlOptions, type ControlOptions, show, taskPath } from './control.ts'
import { time } from './listing.ts'
import type { Ends } from './program.ts'
import { Table } from './table.ts'
import { stateOf } from './tasks.ts'
import { rows, span } from './words.ts'

const EXAMPLES = `
Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate task settlement-42
  fencegate task settlement-42 --json`

export function addTask(program: Command, ends: Ends): void {
  addControlOptions(program.command('task <task>'))
    .description('Show one task whole: mark, open writes, what holds it up, its latest rejections.')
    .addHelpText('after', EXAMPLES)
    .action(async (task: string, options: ControlOptions) => {
      const page = await ask<TaskPage>(options, taskPath(task))
      await show(options.json, page, () => describeTask(page))
      ends(EXIT.ok)
    })
}

export function describeTask(page: TaskPage): string[] {
  const { task, mark, recorded, holder, passes, usedAtMs, open, held, rejections } = page
  return [
    ...rows([
      ['task', task],
      ['mark', recorded ? mark : `none: it starts at the floor ${mark}`],
      ['holder', holder],
      ['state', stateOf(page) || 'served'],
      ['passes', `${passes} and above${page.frozen ? ', once thawed' : ''}`],
      ['used', time(usedAtMs)],
    ]),
    ...section(
      'Open writes',
      ['TOKEN', 'AGE', 'ROUTE', 'METHOD', 'TARGET', 'HOLDER', 'OPERATION'],
      [
        ...open.map((write) => [
          ...[write.token, span(write.ageMs), write.route, write.method, write.target],
          ...[write.holder, write.operation],
        ]),
      ],
    ),
    ...section(
      'Held up by these unknown outcomes (see fencegate resolve)',
      ['ID', 'TOKEN', 'OPERATION'],
      held.map(({ id, token, operation }) => [id, token, operation]),
    ),
    ...section(
      'Latest rejections',
      ['TIME', 'TOKEN', 'HIGHEST', 'CODE', 'COUNT', 'CLIENT', 'AGENT'],
      rejections.map(rejectionCells),
    ),
  ]
}

function rejectionCells({ atMs, token, data }: Entry): (string | undefined)[] {
  const { highest, code, count, client, userAgent } = data
  return [time(atMs), token, ...[highest, code, count, client, userAgent].map(text)]
}

function text(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}

function section(
  title: string,
  columns: readonly string[],
  cells: readonly (readonly (string | undefined)[])[],
): string[] {
  return cells.length === 0 ? [] : ['', `${title}:`, new Table(columns).lines(cells).trimEnd()]
}
