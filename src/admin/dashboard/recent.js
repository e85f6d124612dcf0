/**
 * The newest entries of the journal, however they come: from the stream, from a page of what was before it, twice or
 * out of order. At most `capacity` are kept, newest first, each once.
 */

/** @import { Entry } from './types.js' */

export class Recent {
  #capacity
  /** @type {Entry[]} newest first */
  #entries = []

  /** @param {number} capacity */
  constructor(capacity) {
    this.#capacity = capacity
  }

  get entries() {
    return /** @type {readonly Entry[]} */ (this.#entries)
  }

  /** The number of the newest entry; 0 before there is one. */
  get newestSeq() {
    return this.#entries[0]?.seq ?? 0
  }

  /**
   * @param {readonly Entry[]} entries
   * @returns {boolean} whether any of them is new
   */
  add(entries) {
    let added = false
    for (const entry of entries) added = this.#insert(entry) || added
    return added
  }

  /** @param {Entry} entry */
  #insert(entry) {
    const place = this.#entries.findIndex(({ seq }) => seq <= entry.seq)
    if (place !== -1 && this.#entries[place]?.seq === entry.seq) return false
    if (place === -1) {
      if (this.#entries.length >= this.#capacity) return false
      this.#entries.push(entry)
      return true
    }
    this.#entries.splice(place, 0, entry)
    if (this.#entries.length > this.#capacity) this.#entries.pop()
    return true
  }

  /**
   * @param {number} atMs by the sidecar's clock
   * @returns {number} writes rejected as stale since then, as far as the journal has told
   */
  staleSince(atMs) {
    return this.#entries.reduce((sum, entry) => {
      const counts = entry.atMs > atMs && entry.data.code === 'stale-token'
      return counts ? sum + Number(entry.data.count ?? 1) : sum
    }, 0)
  }

  /** @param {number} seq */
  countAfter(seq) {
    const older = this.#entries.findIndex((entry) => entry.seq <= seq)
    return older === -1 ? this.#entries.length : older
  }
}
