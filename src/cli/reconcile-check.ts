/** `fencegate reconcile --check`: the canonical list beside what a provider exported. */
import path from 'node:path'
import { type Command, Option } from 'commander'
import { EXIT, ExitError } from '../errors.ts'
import {
  AmbiguousKeyError,
  type ColumnComparison,
  Comparison,
  type Difference,
} from '../journal/comparison.ts'
import type { ReconciledOperation } from '../journal/reconcile.ts'
import { counted, type Format, inBatches, printList } from './listing.ts'
import { type ExportFile, type ExportFormat, exportEntries } from './provider-export.ts'
import { ATTEMPT_COLUMNS, DIFFERENCES } from './reconcile-views.ts'
import { expectReadable, FileFault } from './text-source.ts'

export interface CheckOptions {
  readonly check?: string
  readonly checkFormat?: ExportFormat
  readonly checkKey?: string
  readonly checkColumn?: readonly string[]
}

/** What is compared with what. */
export interface Check {
  readonly source: ExportFile
  readonly columns: readonly ColumnComparison[]
}

const DEFAULT_KEY = 'idempotency_key'
const FORMATS: Readonly<Record<string, ExportFormat>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
}

export function addCheckOptions(command: Command): Command {
  return command
    .addOption(new Option('--check <file>', "compare with a provider's export").conflicts('canonical'))
    .addOption(
      new Option('--check-format <format>', 'of the export; by default from its name').choices([
        'csv',
        'jsonl',
      ]),
    )
    .option('--check-key <column>', `its column with the key, or a JSON pointer (default: "${DEFAULT_KEY}")`)
    .option(
      '--check-column <column=field>',
      'compare this column too; can be repeated',
      (text, before: string[] = []) => [...before, text],
    )
}

/** Undefined: no check is asked for. Throws {@link ExitError}. */
export function checkOf({
  check: file,
  checkFormat,
  checkKey,
  checkColumn = [],
}: CheckOptions): Check | undefined {
  if (file === undefined) {
    if (checkFormat === undefined && checkKey === undefined && checkColumn.length === 0) return undefined
    throw new ExitError(
      EXIT.usage,
      '--check-format, --check-key and --check-column need --check: name the file',
    )
  }
  const format = checkFormat ?? FORMATS[path.extname(file).toLowerCase()]
  if (format === undefined) {
    throw new ExitError(
      EXIT.usage,
      `--check: whether ${file} is CSV or JSON Lines can't be told from its name: say so with --check-format`,
    )
  }
  const columns = checkColumn.map(comparisonOf)
  expectReadable(file)
  const source = { file, format, key: checkKey ?? DEFAULT_KEY, columns: columns.map(({ column }) => column) }
  return { source, columns }
}

function comparisonOf(text: string): ColumnComparison {
  const at = text.lastIndexOf('=')
  const cell = ATTEMPT_COLUMNS[text.slice(at + 1)]
  if (at < 1 || !cell) {
    const fields = Object.keys(ATTEMPT_COLUMNS).join(', ')
    throw new ExitError(EXIT.usage, `--check-column: "${text}" is not COLUMN=FIELD with a field of ${fields}`)
  }
  const recorded: ColumnComparison['recorded'] = (operation, attempt) =>
    cell({ operation, attempt })?.toString()
  return { column: text.slice(0, at), recorded }
}

/** Prints the differences; returns whether there are any. */
export async function compare(
  { source, columns }: Check,
  format: Format,
  selected: readonly ReconciledOperation[],
  others: readonly ReconciledOperation[],
): Promise<boolean> {
  const comparison = new Comparison(selected, others, columns)
  const counts = { entries: 0, missing: 0, extra: 0, differing: 0 }
  async function* differences(): AsyncGenerator<Difference> {
    for await (const entry of exportEntries(source)) {
      counts.entries++
      yield* differencesOf(comparison, source, entry)
    }
    yield* comparison.missing()
  }
  async function* tallied(): AsyncGenerator<Difference> {
    for await (const difference of differences()) {
      counts[difference.kind]++
      yield difference
    }
  }
  await printList(DIFFERENCES, format, inBatches(tallied()))
  const { entries, missing, extra, differing } = counts
  process.stderr.write(
    `${source.file} has ${counted(entries, 'entry', 'entries')}: ${missing} missing, ${extra} extra, ${differing} differing.\n`,
  )
  return missing + extra + differing > 0
}

function differencesOf(
  comparison: Comparison,
  { file }: ExportFile,
  entry: Parameters<Comparison['differences']>[0],
): Difference[] {
  try {
    return comparison.differences(entry)
  } catch (error) {
    if (!(error instanceof AmbiguousKeyError)) throw error
    throw new FileFault(file, entry.line, `${error.message}: name the one of this export with --scope`)
  }
}
