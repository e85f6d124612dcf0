/** `fencegate operations`: each operation and what is known of it, in the order of their first attempts. */
import { type Command, Option } from 'commander'
import { EXIT } from '../errors.ts'
import type { ListedOperation } from '../journal/operations.ts'
import { addSidecarOptions, endpointOf, type SidecarOptions } from './endpoint.ts'
import { addFormatOptions, type FormatOptions, formatOf, printList, time, type View } from './listing.ts'
import type { Ends } from './program.ts'
import { recordPages } from './record-pages.ts'

interface Options extends SidecarOptions, FormatOptions {
  readonly task?: string
  readonly state?: string
}

const STATES = ['open', 'failed', 'unknown', 'done']

const EXAMPLES = `
open: an attempt is under way. failed: may be attempted again. unknown: what became of an attempt is not known.
done: a final answer, or what somebody found out, is on record; repeats are answered from it.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate operations --task settlement-42
  fencegate operations --state unknown
  fencegate operations --task settlement-42 --format csv > operations.csv`

const VIEW: View<ListedOperation> = {
  table: {
    KEY: ({ key }) => key,
    STATE: ({ state, everUnknown }) => `${state}${everUnknown && state !== 'unknown' ? ', was unknown' : ''}`,
    STATUS: ({ status }) => status,
    BODY: ({ bodyKept }) => bodyKept,
    FIRST: ({ firstAtMs }) => time(firstAtMs),
    LAST: ({ lastAtMs }) => time(lastAtMs),
    TASK: ({ task }) => task,
    SCOPE: ({ scope }) => scope,
  },
  csv: {
    scope: ({ scope }) => scope,
    task: ({ task }) => task,
    idempotency_key: ({ key }) => key,
    provider_key: ({ providerKey }) => providerKey,
    state: ({ state }) => state,
    ever_unknown: ({ everUnknown }) => String(everUnknown),
    status: ({ status }) => status,
    body_kept: ({ bodyKept }) => bodyKept,
    first_at: ({ firstAtMs }) => time(firstAtMs),
    last_at: ({ lastAtMs }) => time(lastAtMs),
    keep_until: ({ keepUntilMs }) => time(keepUntilMs),
    id: ({ id }) => id,
  },
  json: (operation) => operation,
}

export function addOperations(program: Command, ends: Ends): void {
  addSidecarOptions(addFormatOptions(program.command('operations')))
    .description('List operations, and what is known of each.')
    .option('--task <task>', 'of this task only')
    .addOption(new Option('--state <state>', 'in this state only').choices(STATES))
    .addHelpText('after', EXAMPLES)
    .action(async ({ task, state, ...options }: Options) => {
      const pages = recordPages<ListedOperation>(endpointOf(options), 'operations', { task, state })
      const isEmpty = await printList(VIEW, formatOf(options), pages)
      if (isEmpty) process.stderr.write('No such operation is on record.\n')
      ends(EXIT.ok)
    })
}
