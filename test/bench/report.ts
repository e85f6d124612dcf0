/** What a benchmark hands in, and how it is shown. */

export interface Scale {
  /** Small numbers, to see that it runs. */
  readonly quick: boolean
  /** Where stores are made; removed at the end. */
  readonly directory: string
  /** The entry point of the sidecar, built. */
  readonly main: string
}

export interface Section {
  /** Stable, for machines. */
  readonly name: string
  readonly title: string
  /** All with the same columns. */
  readonly rows: readonly Readonly<Record<string, string | number>>[]
  readonly notes: readonly string[]
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  if (sorted.length === 0) throw new Error('the median of nothing')
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}

export function twoDigits(value: number): number {
  return Math.round(value * 100) / 100
}

/** A title, the table with its numbers flush right, and the notes. */
export function render({ title, rows, notes }: Section): string {
  const columns = Object.keys(rows[0] ?? {})
  const cells = rows.map((row) => columns.map((column) => shown(row[column] ?? '')))
  const widths = columns.map((column, i) =>
    Math.max(column.length, ...cells.map((row) => row[i]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return [title, '', line(columns), rule, ...cells.map(line), ...notes.map((note) => `  ${note}`), ''].join(
    '\n',
  )
}

function shown(cell: string | number): string {
  return typeof cell === 'number' ? cell.toLocaleString('en-US') : cell
}
