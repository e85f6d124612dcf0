/**
 * Reads server-sent events from bytes. The browser's own reader can't carry the bearer token that reading needs on an
 * address that isn't loopback.
 *
 * Invariant: at most {@link MAX_CHARACTERS} of an event are kept; a longer one is an error, so that nothing that the
 * other end sends makes the page grow.
 */

/** @typedef {{ event: string, id: string, data: string }} StreamEvent */

/** An entry of the journal is a few hundred bytes. */
export const MAX_CHARACTERS = 256 * 1024

export class EventParser {
  #decoder = new TextDecoder()
  #text = ''
  #event = ''
  #id = ''
  /** @type {string[]} */
  #data = []
  #size = 0
  #afterReturn = false

  /**
   * @param {Uint8Array} bytes
   * @returns {StreamEvent[]} the events that these bytes complete
   */
  push(bytes) {
    let text = this.#decoder.decode(bytes, { stream: true })
    // A line feed that comes behind its carriage return in the next piece ends no line of its own.
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1)
    if (text !== '') this.#afterReturn = text.endsWith('\r')
    const lines = (this.#text + text).split(/\r\n|\n|\r/)
    this.#text = /** @type {string} */ (lines.pop())
    const events = lines.flatMap((line) => this.#take(line) ?? [])
    if (this.#text.length + this.#size > MAX_CHARACTERS) {
      throw new RangeError(`an event of more than ${MAX_CHARACTERS} characters`)
    }
    return events
  }

  /**
   * @param {string} line
   * @returns {StreamEvent | undefined} the event, if the line ends one
   */
  #take(line) {
    if (line === '') return this.#dispatch()
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') this.#event = value
    else if (field === 'id') this.#id = value
    else if (field === 'data') {
      this.#data.push(value)
      this.#size += value.length
    }
    return undefined
  }

  /** @returns {StreamEvent | undefined} */
  #dispatch() {
    const event = { event: this.#event || 'message', id: this.#id, data: this.#data.join('\n') }
    const any = this.#data.length > 0
    this.#event = ''
    this.#data = []
    this.#size = 0
    return any ? event : undefined
  }
}
