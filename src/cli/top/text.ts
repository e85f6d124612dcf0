/** Text in the columns of a terminal: cut, wrapped, side by side, or aligned. A character is a column. */

/** Parts side by side, on as many lines as they need. */
export function flow(parts: readonly string[], columns: number): string[] {
  const lines: string[] = []
  for (const part of parts.filter((text) => text !== '')) {
    const last = lines.at(-1)
    const joined = `${last}   ${part}`
    if (last !== undefined && joined.length <= columns) lines[lines.length - 1] = joined
    else lines.push(part)
  }
  return lines
}

export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (let at = 0; at === 0 || at < text.length; at += columns) lines.push(text.slice(at, at + columns))
  return lines
}

export function fit(text: string, width: number): string {
  const printable = text.replace(/[^\x20-\x7e]/g, '?')
  return printable.length <= width
    ? printable
    : `${printable.slice(0, Math.max(0, width - 1))}~`.slice(0, width)
}

export function aligned(rows: readonly (readonly string[])[], columns: number): string[] {
  // No cell takes more than a third, so that one long name leaves room for the rest.
  const most = Math.min(Math.max(12, Math.floor(columns / 3)), 40)
  const cells = rows.map((row) => row.map((cell) => fit(cell, most)))
  const widths = (cells[0] ?? []).map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)))
  return cells.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .filter((_, i) => widths[i] !== 0)
      .join('  ')
      .trimEnd(),
  )
}
