/**
 * Writes CSV (RFC 4180). Invariant: no cell is a formula where a spreadsheet opens the file: one that begins as a
 * formula does gets an apostrophe before it.
 */

export type Cell = string | number | undefined

/** One line, with its end. An undefined cell is empty. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(cell: Cell): string {
  if (cell === undefined || typeof cell === 'number') return String(cell ?? '')
  const text = /^[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
