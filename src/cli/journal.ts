/** `fencegate journal`: what happened, oldest first. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { ListedEntry } from '../journal/entries.ts'
import { CONFIG_OPTION, type ConfigOptions, DATA_OPTION } from './config-options.ts'
import { socketOf } from './control.ts'
import { type Format, formatOption, printList, time, type View } from './listing.ts'
import type { Ends } from './program.ts'
import { recordPages } from './record-pages.ts'

/** As it comes from the sidecar, with the token as a string. */
type Entry = Omit<ListedEntry, 'token'> & { readonly token?: string }

interface Options extends ConfigOptions {
  readonly task?: string
  readonly token?: string
  readonly format: Format
}

const EXAMPLES = `
Handovers, stale rejections, operators' acts and resolved outcomes; "dropped" counts entries that there was no room for.
Attempts of operations have a record of their own: see "fencegate reconcile".

Examples:
  fencegate journal --task settlement-42
  fencegate journal --token 50 --format jsonl
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
  program
    .command('journal')
    .description('List what happened: handovers, stale rejections, acts, resolved outcomes.')
    .option('--task <task>', 'of this task only')
    .option('--token <token>', 'of this token only')
    .addOption(formatOption())
    .option(...CONFIG_OPTION)
    .option(...DATA_OPTION)
    .addHelpText('after', EXAMPLES)
    .action(async ({ task, token, format, ...options }: Options) => {
      const isEmpty = await printList(
        VIEW,
        format,
        recordPages<Entry>(socketOf(options), 'journal', { task, token }),
      )
      if (isEmpty) process.stderr.write('The journal has no such entry.\n')
      ends(EXIT.ok)
    })
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
