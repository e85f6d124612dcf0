/** `fencegate journal`: what happened, oldest first, and what happens from now on. */
import { type Command, Option } from 'commander'
import { EXIT } from '../errors.ts'
import type { ListedEntry } from '../journal/entries.ts'
import { addSidecarOptions, type Endpoint, endpointOf, type SidecarOptions } from './endpoint.ts'
import { follow } from './follow.ts'
import { untilInterrupted } from './interrupt.ts'
import { addFormatOptions, type FormatOptions, formatOf, printList, time, type View } from './listing.ts'
import { countOf, named } from './numbers.ts'
import type { Ends } from './program.ts'
import { recordPages } from './record-pages.ts'

/** As it comes from the sidecar, with the token as a string. */
export type Entry = Omit<ListedEntry, 'token'> & { readonly token?: string }

interface Filters {
  readonly task?: string
  readonly token?: string
  readonly kind?: string
}

interface Options extends SidecarOptions, FormatOptions, Filters {
  readonly last?: string
  readonly follow?: true
}

const KINDS = ['handover', 'rejection', 'act', 'resolved', 'dropped']
const MAX_LAST = 10_000

const EXAMPLES = `
Handovers, stale rejections, operators' acts and resolved outcomes; "dropped" counts entries that there was no room for.
Attempts of operations have a record of their own: see "fencegate reconcile".

--follow begins with what comes now, and with --last at that many entries before; it outlives a restart of the sidecar
without missing an entry, and ends with 0 on SIGINT (Ctrl-C) or SIGTERM.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate journal --task settlement-42
  fencegate journal --token 50 --format jsonl
  fencegate journal --kind act --last 20
  fencegate journal --follow --kind rejection
  fencegate journal --follow --json --server https://fencegate.example --token-file token
  fencegate journal --format csv > journal.csv`

const VIEW: View<Entry> = {
  table: {
    TIME: ({ atMs }) => time(atMs),
    KIND: ({ kind }) => kind,
    TASK: ({ task }) => task,
    TOKEN: ({ token }) => token,
    DETAILS: ({ data }) => details(data),
  },
  csv: {
    seq: ({ seq }) => seq,
    at: ({ atMs }) => time(atMs),
    kind: ({ kind }) => kind,
    task: ({ task }) => task,
    token: ({ token }) => token,
    data: ({ data }) => JSON.stringify(data),
  },
  json: (entry) => entry,
}

export function addJournal(program: Command, ends: Ends): void {
  addSidecarOptions(addFormatOptions(program.command('journal')))
    .description('List what happened: handovers, stale rejections, acts, resolved outcomes.')
    .option('--task <task>', 'of this task only')
    .option('--token <token>', 'of this token only')
    .addOption(new Option('--kind <kind>', 'of this kind only').choices(KINDS))
    .option('--last <n>', 'the newest, at most so many')
    .option('--follow', 'go on with what comes')
    .addHelpText('after', EXAMPLES)
    .action(async ({ task, token, kind, ...options }: Options) => {
      const endpoint = endpointOf(options)
      const filters = { task, token, kind }
      const last =
        options.last === undefined ? undefined : named('--last', () => countOf(options.last, MAX_LAST))
      if (options.follow) {
        await untilInterrupted((signal) =>
          printList(VIEW, formatOf(options), growing(endpoint, filters, last ?? 0, signal)),
        )
        return ends(EXIT.ok)
      }
      const pages =
        last === undefined
          ? recordPages<Entry>(endpoint, 'journal', filters)
          : [await newest(endpoint, filters, last)]
      const isEmpty = await printList(VIEW, formatOf(options), pages)
      if (isEmpty) process.stderr.write('The journal has no such entry.\n')
      ends(EXIT.ok)
    })
}

/** The newest entries, oldest first. */
async function newest(
  endpoint: Endpoint,
  filters: Readonly<Record<string, string | undefined>>,
  count: number,
): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const page of recordPages<Entry>(endpoint, 'journal', { ...filters, order: 'newest' })) {
    entries.push(...page)
    if (entries.length >= count) break
  }
  return entries.slice(0, count).reverse()
}

async function* growing(
  endpoint: Endpoint,
  { task, token, kind }: Record<keyof Filters, string | undefined>,
  last: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Entry[]> {
  // Known before the stream is asked for, so that nothing is missed if it breaks off before its first entry.
  const [end] = await newest(endpoint, {}, 1)
  let after = end?.seq ?? 0
  if (last > 0) {
    const before = await newest(endpoint, { task, token, kind }, last)
    yield before
    after = Math.max(after, before.at(-1)?.seq ?? 0)
  }
  const notice = (text: string) => process.stderr.write(`${text}\n`)
  for await (const entries of follow<Entry>(endpoint, { filters: { task, kind }, after, signal, notice })) {
    yield token === undefined ? entries : entries.filter((entry) => entry.token === token)
  }
}

function details(data: Entry['data']): string {
  return Object.entries(data)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(' ')
}

/** A text in quotes where it could be read as more than one word. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}
