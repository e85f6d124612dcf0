/**
 * Reads Server-Sent Events as they come, in pieces of any size. Invariant: no more than one event is held, and an
 * event that is too long is a fault.
 */
const MAX_EVENT = 2 ** 20

export interface StreamEvent {
  readonly id: string | undefined
  readonly data: string
}

export class EventReader {
  #rest = ''
  #id: string | undefined
  #data: string[] = []
  #length = 0

  /** The events that are complete by this piece of the text. Throws a {@link RangeError}. */
  read(text: string): StreamEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() as string
    const events: StreamEvent[] = []
    for (const line of lines) {
      const event = this.#line(line)
      if (event) events.push(event)
    }
    if (this.#length + this.#rest.length > MAX_EVENT) throw new RangeError('an event without an end')
    return events
  }

  #line(line: string): StreamEvent | undefined {
    if (line === '') return this.#end()
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'id') this.#id = value
    if (field === 'data') {
      this.#data.push(value)
      this.#length += value.length
    }
    return undefined
  }

  #end(): StreamEvent | undefined {
    const event = { id: this.#id, data: this.#data.join('\n') }
    const isEvent = this.#data.length > 0
    this.#data = []
    this.#length = 0
    return isEvent ? event : undefined
  }
}
