/**
 * `fencegate reconcile`: what the record says of a task's operations, which of their attempts is the one that counts,
 * and whether a provider says the same. Reads only; nothing is changed or deleted.
 */
import type { Command } from 'commander'
import { EXIT, ExitError } from '../errors.ts'
import { type ReconciledOperation, VERDICTS } from '../journal/reconcile.ts'
import { MAX_TOKEN, parseToken, type Token } from '../token.ts'
import { addSidecarOptions, endpointOf, type SidecarOptions } from './endpoint.ts'
import {
  addFormatOptions,
  counted,
  type Format,
  type FormatOptions,
  formatOf,
  inBatches,
  printList,
} from './listing.ts'
import type { Ends } from './program.ts'
import { addCheckOptions, type CheckOptions, checkOf, compare } from './reconcile-check.ts'
import { readReconciliation } from './reconcile-record.ts'
import { ATTEMPT_COLUMNS, ATTEMPTS, type AttemptRow, attemptsView, CANONICAL } from './reconcile-views.ts'

/** The exit status where the provider has something else than the canonical list. */
const DIFFERENT = 1

interface Options extends SidecarOptions, CheckOptions, FormatOptions {
  readonly task: string
  readonly token?: string
  readonly scope?: string
  readonly canonical?: true
}

const EXAMPLES = `
An operation is applied (a final 2xx answer is on record, or somebody found out that it was), compensated, open, unknown,
failed (no attempt is known to have been applied) or conflicting (applied twice, or applied while the outcome of another
attempt is unknown). "fencegate resolve" settles what is unknown: of two attempts with one effect, resolve one as applied
and the other as not-applied. Attempts are held in memory, about 0.7 KB each.

--canonical lists the one applied attempt of each operation. --check compares that list with a provider's export (JSON
Lines, or CSV with a line of names first), by the key that the provider was told or else the client's, and lists what is
  missing    applied, and not in the export
  extra      in the export, and not applied, or there a second time
  differing  with another value in a --check-column than on record
The fields for --check-column: ${Object.keys(ATTEMPT_COLUMNS).join(', ')}.

Exit codes: 0 done, 1 the check found a difference, 64 bad usage or a malformed export, 69 the sidecar can't be asked.

Examples:
  fencegate reconcile --task settlement-42
  fencegate reconcile --task settlement-42 --token 50 --format jsonl
  fencegate reconcile --task settlement-42 --canonical --format csv > canonical.csv
  fencegate reconcile --task settlement-42 --check charges.csv --check-key "Idempotency key"
  fencegate reconcile --task settlement-42 --check charges.jsonl --check-key /request/idempotency_key \\
    --check-column status_code=status`

export function addReconcile(program: Command, ends: Ends): void {
  const command = addFormatOptions(program.command('reconcile'))
    .description('Show what of a task is applied, unknown or conflicting; compare it with a provider.')
    .requiredOption('--task <task>', 'the task')
    .option('--token <token>', 'only operations that were attempted with this token')
    .option('--scope <scope>', 'only operations of this scope')
    .option('--canonical', 'list the one applied attempt of each operation')
  addSidecarOptions(addCheckOptions(command))
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options) => ends(await reconcile(options)))
}

async function reconcile(options: Options): Promise<number> {
  const { task, scope } = options
  const format = formatOf(options)
  const token = tokenOf(options.token)
  const check = checkOf(options)
  const record = await readReconciliation(endpointOf(options), task)
  const all = [...record.operations()]
  const isSelected = (operation: ReconciledOperation) =>
    (scope === undefined || operation.scope === scope) &&
    (token === undefined || operation.attempts.some((attempt) => attempt.token === token))
  const selected = all.filter(isSelected)
  let different = false
  if (check) {
    // Every entry of the export would be passed over, and nothing would seem to be wrong.
    if (selected.length === 0 && all.length > 0) throw nothingToCheck(all)
    const others = all.filter((operation) => !isSelected(operation))
    different = await compare(check, format, selected, others)
  } else {
    await show(selected, format, options.canonical === true)
  }
  process.stderr.write(summary(selected))
  const gone = record.beingForgotten
  if (gone > 0) process.stderr.write(leftOut(gone))
  return different ? DIFFERENT : EXIT.ok
}

function tokenOf(text: string | undefined): Token | undefined {
  const token = text === undefined ? undefined : parseToken(text)
  if (text === undefined || token !== undefined) return token
  throw new ExitError(EXIT.usage, `--token: "${text}" is not a decimal integer from 1 to ${MAX_TOKEN}`)
}

function nothingToCheck(all: readonly ReconciledOperation[]): ExitError {
  const scopes = [...new Set(all.map(({ scope }) => scope))].join(', ')
  return new ExitError(
    EXIT.usage,
    `no operation of the task is of this scope and was attempted with this token, so there is nothing to check: its ` +
      `scopes are ${scopes}`,
  )
}

async function show(
  operations: readonly ReconciledOperation[],
  format: Format,
  canonical: boolean,
): Promise<void> {
  if (canonical) await printList(CANONICAL, format, inBatches(canonicalRows(operations)))
  else if (format === 'csv') await printList(ATTEMPTS, format, inBatches(attemptRows(operations)))
  else await printList(attemptsView(operations), format, inBatches(operations))
}

function* canonicalRows(operations: readonly ReconciledOperation[]): Generator<AttemptRow> {
  for (const operation of operations) {
    const attempt = operation.canonical
    if (attempt) yield { operation, attempt }
  }
}

function* attemptRows(operations: readonly ReconciledOperation[]): Generator<AttemptRow> {
  for (const operation of operations) for (const attempt of operation.attempts) yield { operation, attempt }
}

function leftOut(count: number): string {
  const what = count === 1 ? '1 operation is' : `${count} operations are`
  return `${what} left out: retention is taking ${count === 1 ? 'it' : 'them'} off the record.\n`
}

/** On standard error, so that it is no part of a list that goes elsewhere. */
function summary(operations: readonly ReconciledOperation[]): string {
  const counts = new Map(VERDICTS.map((verdict) => [verdict, 0]))
  let byTwo = 0
  for (const { verdict, byTwoHolders } of operations) {
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
    if (byTwoHolders) byTwo++
  }
  const parts = [...counts].filter(([, count]) => count > 0).map(([verdict, count]) => `${count} ${verdict}`)
  const list = parts.length === 0 ? '' : `: ${parts.join(', ')}; ${byTwo} attempted by two holders`
  return `${counted(operations.length, 'operation', 'operations')}${list}.\n`
}
