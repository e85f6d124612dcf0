/**
 * Prints lists of any length as a table, CSV or JSON Lines: a part at a time, no faster than the reader takes it.
 */
import { type Command, Option } from 'commander'
import { type Cell, csvLine } from './csv.ts'
import { print } from './output.ts'
import { Table } from './table.ts'

const BATCH = 1000

export type Format = 'table' | 'jsonl' | 'csv'

export interface FormatOptions {
  readonly format: Format
  readonly json?: true
}

export function addFormatOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'how to print it').choices(['table', 'jsonl', 'csv']).default('table'),
    )
    .addOption(new Option('--json', 'as JSON Lines, as --format jsonl does').conflicts('format'))
}

export function formatOf({ format, json }: FormatOptions): Format {
  return json ? 'jsonl' : format
}

export type Columns<T> = Readonly<Record<string, (row: T) => Cell>>

/** How rows of a kind are shown. */
export interface View<T> {
  /** By their titles. */
  readonly table: Columns<T>
  /** By their names, which are stable. */
  readonly csv: Columns<T>
  /** What a line of JSON holds. */
  readonly json: (row: T) => unknown
}

/** Returns whether the list is known to be empty. */
export async function printList<T>(
  view: View<T>,
  format: Format,
  pages: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
): Promise<boolean> {
  const written = writer(view, format)
  let isEmpty = true
  if (format === 'csv' && !(await print(csvLine(Object.keys(view.csv))))) return false
  for await (const page of pages) {
    isEmpty &&= page.length === 0
    if (!(await print(written(page)))) return false
  }
  return isEmpty
}

function writer<T>(view: View<T>, format: Format): (page: readonly T[]) => string {
  if (format === 'jsonl') return (page) => page.map((row) => `${JSON.stringify(view.json(row))}\n`).join('')
  const columns = Object.values(format === 'csv' ? view.csv : view.table)
  const cells = (row: T) => columns.map((cell) => cell(row))
  if (format === 'csv') return (page) => page.map((row) => csvLine(cells(row))).join('')
  const table = new Table(Object.keys(view.table))
  return (page) => table.lines(page.map(cells))
}

/** As pages, so that not each row is written by itself. */
export async function* inBatches<T>(rows: AsyncIterable<T> | Iterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  for await (const row of rows) {
    if (batch.push(row) < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Wall clock, as it is shown. */
export function time(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
