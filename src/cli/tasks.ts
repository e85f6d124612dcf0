/** `fencegate tasks`: the tasks by name, each with its mark and what is going on. */
import { type Command, Option } from 'commander'
import { EXIT } from '../errors.ts'
import type { Task } from './api.ts'
import { addSidecarOptions, endpointOf, type SidecarOptions } from './endpoint.ts'
import { addFormatOptions, type FormatOptions, formatOf, printList, time, type View } from './listing.ts'
import { countOf, named } from './numbers.ts'
import type { Ends } from './program.ts'
import { recordPages } from './record-pages.ts'
import { span } from './words.ts'

interface Options extends SidecarOptions, FormatOptions {
  readonly search?: string
  readonly state?: string
  readonly limit: string
  readonly all?: true
}

const MAX_LIMIT = 1_000_000

const EXAMPLES = `
open: with writes under way. pending: with a handover that waits for them. frozen: refusing all writes.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate tasks
  fencegate tasks --search settlement --state open
  fencegate tasks --all --json
  fencegate tasks --all --format csv > tasks.csv`

const VIEW: View<Task> = {
  table: {
    TASK: ({ task }) => task,
    MARK: ({ mark, recorded }) => (recorded ? mark : `${mark} (floor)`),
    STATE: stateOf,
    OPEN: ({ openWrites }) => openWrites,
    OLDEST: ({ oldestOpenWriteMs: ms }) => (ms === undefined ? undefined : span(ms)),
    USED: ({ usedAtMs }) => time(usedAtMs),
    HOLDER: ({ holder }) => holder,
  },
  csv: {
    task: ({ task }) => task,
    mark: ({ mark }) => mark,
    recorded: ({ recorded }) => String(recorded),
    complete: ({ complete }) => String(complete),
    holder: ({ holder }) => holder,
    frozen: ({ frozen }) => String(frozen),
    used_at: ({ usedAtMs }) => time(usedAtMs),
    open_writes: ({ openWrites }) => openWrites,
    oldest_open_write_ms: ({ oldestOpenWriteMs }) => oldestOpenWriteMs,
    handover_waited_ms: ({ handover }) => handover?.waitedMs,
  },
  json: (task) => task,
}

export function addTasks(program: Command, ends: Ends): void {
  addSidecarOptions(addFormatOptions(program.command('tasks')))
    .description('List tasks by name: mark, holder, open writes, handovers, freezes.')
    .option('--search <text>', 'with this in their name, in the same case')
    .addOption(new Option('--state <state>', 'in this state only').choices(['open', 'pending', 'frozen']))
    .option('--limit <n>', 'how many, at most', '100')
    .addOption(new Option('--all', 'all of them, however many').conflicts('limit'))
    .addHelpText('after', EXAMPLES)
    .action(async ({ search, state, ...options }: Options) => {
      const limit = options.all ? Infinity : named('--limit', () => countOf(options.limit, MAX_LIMIT))
      const pages = recordPages<Task>(endpointOf(options), 'tasks', { search, state })
      const isEmpty = await printList(VIEW, formatOf(options), upTo(limit, pages))
      if (isEmpty) process.stderr.write('There is no such task.\n')
      ends(EXIT.ok)
    })
}

/** The first rows; who reads them is told if there are more. */
async function* upTo<T>(limit: number, pages: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  let left = limit
  for await (const page of pages) {
    if (left === 0 && page.length > 0) return more(limit)
    yield page.slice(0, left)
    if (page.length > left) return more(limit)
    left -= page.length
  }
}

function more(limit: number): void {
  process.stderr.write(`There are more than ${limit}: see --search, --state, --limit and --all.\n`)
}

export function stateOf({ frozen, handover, complete, recorded }: Task): string {
  const states = [
    frozen && 'frozen',
    handover && `handover for ${span(handover.waitedMs)}`,
    recorded && !complete && !handover && 'handover not over',
  ]
  return states.filter(Boolean).join(', ')
}
