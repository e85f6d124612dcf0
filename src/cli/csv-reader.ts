/**
 * Reads CSV (RFC 4180) as a stream: lines may end with LF or CR too, and empty ones are left out. Whatever could be read
 * in two ways is a fault. Invariant: never more than one record and one part of the text are in memory.
 */
import { FileFault } from './text-source.ts'

/** Longest record, in UTF-16 units: a quotation mark without its end must not take the whole file for a field. */
const MAX_RECORD = 2 ** 20

const COMMA = 0x2c
const QUOTE = 0x22
const LF = 0x0a
const CR = 0x0d

export interface CsvRecord {
  /** The line that it begins on, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

/** @param file for messages. Throws {@link FileFault}. */
export async function* readCsv(file: string, text: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let line = 1
  let rest = ''
  function* records(isLast: boolean): Generator<CsvRecord> {
    const reader = new RecordReader(file, rest, isLast, line)
    for (let fields = reader.next(); fields; fields = reader.next()) {
      if (fields.length > 1 || fields[0] !== '') yield { line, fields }
      line = reader.line
    }
    rest = rest.slice(reader.position)
    if (rest.length > MAX_RECORD) {
      throw new FileFault(file, line, 'a record longer than 1 MiB: is the end of a quoted field missing?')
    }
  }
  for await (const part of text) {
    rest += part
    yield* records(false)
  }
  yield* records(true)
}

/** Reads the whole records of a text, which goes on unless it is the last. */
class RecordReader {
  /** Where the next record begins. */
  position = 0
  line: number
  readonly #file: string
  readonly #text: string
  readonly #isLast: boolean

  constructor(file: string, text: string, isLast: boolean, line: number) {
    this.#file = file
    this.#text = text
    this.#isLast = isLast
    this.line = line
  }

  /** The next record's fields; undefined if no whole one is left. */
  next(): string[] | undefined {
    const text = this.#text
    if (this.position === text.length) return undefined
    const fields: string[] = []
    let [at, line] = [this.position, this.line]
    for (;;) {
      const quoted = text.charCodeAt(at) === QUOTE
      const end = quoted ? this.#quotedEnd(at, line) : this.#plainEnd(at, line)
      // What ends the field, and whether an LF belongs to it, has to be seen.
      if (end === undefined || (!this.#isLast && end + 1 >= text.length)) return undefined
      const field = quoted ? text.slice(at + 1, end - 1).replaceAll('""', '"') : text.slice(at, end)
      fields.push(field)
      if (quoted) line += lineEndsIn(field)
      at = end + 1
      if (text.charCodeAt(end) === COMMA) continue
      if (text.charCodeAt(end) === CR && text.charCodeAt(at) === LF) at++
      this.position = Math.min(at, text.length)
      this.line = line + 1
      return fields
    }
  }

  /** Where what follows a quoted field is; undefined if its end isn't there. */
  #quotedEnd(start: number, line: number): number | undefined {
    const text = this.#text
    let at = text.indexOf('"', start + 1)
    while (at !== -1 && text.charCodeAt(at + 1) === QUOTE) at = text.indexOf('"', at + 2)
    if (at === -1 && this.#isLast) throw this.#fault(line, 'a quoted field that begins here has no end')
    if (at === -1) return undefined
    const after = at + 1
    if (after < text.length && !isEnd(text.charCodeAt(after))) {
      throw this.#fault(line, 'text behind a quoted field: double each quotation mark within the field')
    }
    return after
  }

  #plainEnd(start: number, line: number): number | undefined {
    const text = this.#text
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (isEnd(code)) return at
      if (code === QUOTE) {
        throw this.#fault(
          line,
          'a quotation mark in a field that does not begin with one: quote the whole field, and double the mark',
        )
      }
    }
    return this.#isLast ? text.length : undefined
  }

  #fault(line: number, message: string): FileFault {
    return new FileFault(this.#file, line, message)
  }
}

function isEnd(code: number): boolean {
  return code === COMMA || code === LF || code === CR
}

function lineEndsIn(field: string): number {
  return field.match(/\r\n|\r|\n/g)?.length ?? 0
}
