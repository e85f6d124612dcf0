/**
 * Points over time in a fixed number of places: when all are taken, the oldest point goes. What a page keeps of its
 * charts never grows, however long it is left open.
 *
 * Invariant: times rise strictly; a point that isn't later than the newest is not taken.
 */

/** @typedef {(number | null)[]} Column values, or `null` where there is a gap */

export class Ring {
  #capacity
  #columns
  /** @type {Column[]} the first holds the times */
  #points

  /**
   * @param {number} capacity points that are kept
   * @param {number} columns values of each point
   */
  constructor(capacity, columns) {
    this.#capacity = capacity
    this.#columns = columns
    this.#points = Array.from({ length: columns + 1 }, () => [])
  }

  get length() {
    return this.#times.length
  }

  /** @returns {number[]} */
  get #times() {
    return /** @type {number[]} */ (this.#points[0])
  }

  /**
   * @param {number} atMs
   * @param {Column} values
   */
  push(atMs, values) {
    if (values.length !== this.#columns) throw new RangeError(`${values.length} values, not ${this.#columns}`)
    if (atMs <= (this.#times.at(-1) ?? -Infinity)) return
    this.#points.forEach((column, i) => {
      column.push(i === 0 ? atMs : /** @type {number | null} */ (values[i - 1]))
      if (column.length > this.#capacity) column.shift()
    })
  }

  /**
   * Forgets what is older.
   *
   * @param {number} atMs
   */
  dropBefore(atMs) {
    let count = 0
    while (count < this.length && /** @type {number} */ (this.#times[count]) < atMs) count++
    if (count > 0) for (const column of this.#points) column.splice(0, count)
  }

  /** The times in seconds, then each column's values: what uPlot draws. */
  series() {
    const [times = [], ...columns] = this.#points
    return [times.map((atMs) => Number(atMs) / 1000), ...columns.map((column) => [...column])]
  }

  /**
   * @param {number} column from 0
   * @returns {number | undefined} the newest value, unless there is a gap
   */
  newest(column) {
    return this.#points[column + 1]?.at(-1) ?? undefined
  }

  /**
   * @param {number} column of rates per second, from 0; each holds since the point before it
   * @param {number} sinceMs
   * @returns {number} how often it happened since then
   */
  total(column, sinceMs) {
    const rates = this.#points[column + 1] ?? []
    let total = 0
    for (let i = this.length - 1; i > 0; i--) {
      const [from, to] = [this.#times[i - 1] ?? 0, this.#times[i] ?? 0]
      if (to <= sinceMs) break
      total += ((rates[i] ?? 0) * (to - Math.max(from, sinceMs))) / 1000
    }
    return total
  }

  /**
   * @param {number} column from 0
   * @returns {number} the highest value kept, 0 if there is none
   */
  highest(column) {
    let highest = 0
    for (const value of this.#points[column + 1] ?? []) if (value !== null && value > highest) highest = value
    return highest
  }
}
