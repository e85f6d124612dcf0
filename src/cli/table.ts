/**
 * A table for a terminal, written a part at a time: columns are as wide as the widest cell so far, so that nothing has
 * to be held back. What others wrote has no control characters in it.
 */
import { plain } from './control.ts'
import type { Cell } from './csv.ts'

const GAP = '  '

export class Table {
  readonly #titles: readonly string[]
  readonly #widths: number[]
  #begun = false

  constructor(titles: readonly string[]) {
    this.#titles = titles
    this.#widths = titles.map((title) => title.length)
  }

  /** The next lines; the first ones come under the titles. */
  lines(rows: readonly (readonly Cell[])[]): string {
    const cells = rows.map((row) => row.map((cell) => plain(String(cell ?? ''))))
    for (const row of cells) {
      row.forEach((cell, i) => {
        this.#widths[i] = Math.max(this.#widths[i] ?? 0, cell.length)
      })
    }
    const all = this.#begun || cells.length === 0 ? cells : [this.#titles, ...cells]
    this.#begun = this.#begun || cells.length > 0
    return all.map((row) => this.#line(row)).join('')
  }

  #line(row: readonly string[]): string {
    const line = row.map((cell, i) => cell.padEnd(this.#widths[i] ?? 0)).join(GAP)
    return `${line.trimEnd()}\n`
  }
}
