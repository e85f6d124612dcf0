/**
 * Reads what a provider has, from a file that it exported: CSV with a line of names first, or JSON Lines. Of each entry
 * only the columns that are asked for are kept. Whatever is malformed ends the command with 64, and a message that names
 * the file, the line, the fault and the remedy.
 */
import type { ExportEntry } from '../journal/comparison.ts'
import { type CsvRecord, readCsv } from './csv-reader.ts'
import { FileFault, textOf } from './text-source.ts'

export type ExportFormat = 'csv' | 'jsonl'

export interface ExportFile {
  readonly file: string
  readonly format: ExportFormat
  /** The column, or member, with the key. */
  readonly key: string
  /** Those to compare. */
  readonly columns: readonly string[]
}

/** Longest line of JSON, in UTF-16 units. */
const MAX_LINE = 2 ** 20

export function exportEntries(source: ExportFile): AsyncGenerator<ExportEntry> {
  return source.format === 'csv' ? csvEntries(source) : jsonEntries(source)
}

async function* csvEntries({ file, key, columns }: ExportFile): AsyncGenerator<ExportEntry> {
  const records = readCsv(file, textOf(file))
  const { value: header } = (await records.next()) as { value: CsvRecord | undefined }
  if (!header) throw new FileFault(file, undefined, 'is empty: its first line names the columns')
  const names = header.fields
  const [keyAt = -1, ...columnsAt] = [key, ...columns].map((column) => {
    const at = names.indexOf(column)
    if (at === -1) throw new FileFault(file, header.line, noColumn(column, names))
    if (names.indexOf(column, at + 1) === -1) return at
    throw new FileFault(file, header.line, `the column ${quoted(column)} is there twice: rename one of them`)
  })
  for await (const { line, fields } of records) {
    if (fields.length !== names.length) {
      throw new FileFault(
        file,
        line,
        `${fields.length} fields where the first line names ${names.length}: quote fields that hold commas`,
      )
    }
    yield { line, key: fields[keyAt] || undefined, values: columnsAt.map((at) => fields[at]) }
  }
}

function noColumn(column: string, names: readonly string[]): string {
  return (
    `no column ${quoted(column)}: name one of ${names.map(quoted).join(', ')} with --check-key or --check-column ` +
    '(columns are separated by commas)'
  )
}

async function* jsonEntries({ file, key, columns }: ExportFile): AsyncGenerator<ExportEntry> {
  let isFirst = true
  for await (const { line, text } of linesOf(file)) {
    const entry = parsed(file, line, text)
    const keyText = memberOf(entry, key)
    if (isFirst && keyText === undefined) {
      throw new FileFault(
        file,
        line,
        `no member ${quoted(key)}: name the one with the key with --check-key, or a path to it, as in /request/key`,
      )
    }
    isFirst = false
    const values = columns.map((column) => memberOf(entry, column) ?? undefined)
    yield { line, key: keyText || undefined, values }
  }
}

async function* linesOf(file: string): AsyncGenerator<{ line: number; text: string }> {
  let line = 0
  let rest = ''
  for await (const part of textOf(file)) {
    const lines = (rest + part).split('\n')
    rest = lines.pop() as string
    for (const text of lines) {
      line++
      if (text.trim() !== '') yield { line, text }
    }
    if (rest.length > MAX_LINE)
      throw new FileFault(file, line + 1, 'longer than 1 MiB: write one entry a line')
  }
  if (rest.trim() !== '') yield { line: line + 1, text: rest }
}

function parsed(file: string, line: number, text: string): object {
  let value: unknown
  try {
    value = /\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text)
  } catch (error) {
    const { message } = error as SyntaxError
    throw new FileFault(file, line, `is no JSON: ${message}. Write one entry a line, as "jq -c" does`, {
      cause: error,
    })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new FileFault(file, line, 'is no JSON object: write one entry a line, as "jq -c .[]" does of a list')
}

/** Large numbers as they are written: as floats, they may be rounded. */
function exact(_name: string, value: unknown, context?: { source?: string }): unknown {
  const isRounded = typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
  return isRounded ? (context?.source ?? value) : value
}

/** A member by its name, or by a JSON pointer (RFC 6901); undefined if it isn't there. */
function memberOf(entry: object, name: string): string | null | undefined {
  const path = name.startsWith('/')
    ? name
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [name]
  let value: unknown = entry
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  if (value === undefined || value === null) return value
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function quoted(name: string): string {
  return JSON.stringify(name)
}
