/**
 * The parts of HTTP/1.1 that requests and answers share, read as RFC 9112 has them and no wider: lines end with
 * CRLF, no bare CR or LF, no obs-fold, no space before a colon.
 *
 * It shares no code with `support/wire.ts`: a second reading can only check the first if it is another one.
 */

export type Field = readonly [name: string, value: string]

/** The bytes so far are the beginning of something. */
export class Incomplete extends Error {
  override readonly name = 'Incomplete'
}

/** No bytes that follow can make this a message. */
export class Invalid extends Error {
  override readonly name = 'Invalid'
  readonly at: number

  constructor(at: number, why: string) {
    super(why)
    this.at = at
  }
}

const CR = 13
const LF = 10
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t -~\x80-\xff]*$/
const CHUNK = /^([0-9a-fA-F]+)(;.*)?$/
/**
 * RFC 9112, section 7.1.1, without the bad whitespace that no sender makes; and names and values may be empty, since
 * what an extension says is nobody's business.
 */
const EXTENSIONS =
  /^(?:;(?=.)[!#$%&'*+.^_`|~0-9A-Za-z-]*(?:=[!#$%&'*+.^_`|~0-9A-Za-z-]*(?:"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*")?)?)*$/
/** Of one body together; a recipient ought to have a limit (RFC 9112, section 7.1.1). */
const MAX_EXTENSION_BYTES = 16_384
/** What is longer than this no reader can count. */
export const MAX_LENGTH = 2n ** 64n - 1n

export class Cursor {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get atEnd(): boolean {
    return this.at >= this.bytes.length
  }

  /** One line without its CRLF, a byte a character. */
  line(): string {
    const lf = this.bytes.indexOf(LF, this.at)
    if (lf < 0) throw new Incomplete()
    if (lf === this.at || this.bytes[lf - 1] !== CR) throw new Invalid(lf, 'a bare LF')
    const line = this.bytes.toString('latin1', this.at, lf - 1)
    const cr = line.indexOf('\r')
    if (cr >= 0) throw new Invalid(this.at + cr, 'a bare CR')
    this.at = lf + 1
    return line
  }

  /** As many bytes as there are, at most `count`. */
  take(count: number): Buffer {
    const taken = this.bytes.subarray(this.at, this.at + count)
    this.at += taken.length
    return taken
  }
}

/** Fields up to the empty line, which is taken too. */
export function readFields(cursor: Cursor): Field[] {
  const fields: Field[] = []
  for (;;) {
    const at = cursor.at
    const line = cursor.line()
    if (line === '') return fields
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0))
    const value = withoutOws(line.slice(colon + 1))
    if (!TOKEN.test(name)) throw new Invalid(at, 'a field name that is no token')
    if (!FIELD_VALUE.test(value)) throw new Invalid(at, 'a control character in a field value')
    fields.push([name, value])
  }
}

function withoutOws(text: string): string {
  let [from, to] = [0, text.length]
  while (from < to && isOws(text[from])) from++
  while (to > from && isOws(text[to - 1])) to--
  return text.slice(from, to)
}

function isOws(char: string | undefined): boolean {
  return char === ' ' || char === '\t'
}

/** Reads a chunked body; what came before a fault has been pushed by then. Gives the trailer fields. */
export function readChunked(cursor: Cursor, data: Buffer[]): Field[] {
  let extensionBytes = 0
  for (;;) {
    const at = cursor.at
    const [, digits, extensions = ''] = CHUNK.exec(cursor.line()) ?? []
    extensionBytes += extensions.length
    if (digits === undefined) throw new Invalid(at, 'a chunk size that is none')
    if (!EXTENSIONS.test(extensions)) throw new Invalid(at, 'a chunk extension that is none')
    if (extensionBytes > MAX_EXTENSION_BYTES) throw new Invalid(at, 'chunk extensions without end')
    const size = BigInt(`0x${digits}`)
    if (size > MAX_LENGTH) throw new Invalid(at, 'a chunk size beyond counting')
    if (size === 0n) return readFields(cursor)
    readExactly(cursor, size, data)
    readChunkEnd(cursor)
  }
}

export function readExactly(cursor: Cursor, size: bigint, data: Buffer[]): void {
  const part = cursor.take(Number(size))
  data.push(part)
  if (BigInt(part.length) < size) throw new Incomplete()
}

function readChunkEnd(cursor: Cursor): void {
  const [cr, lf] = cursor.bytes.subarray(cursor.at, cursor.at + 2)
  if (cr !== undefined && cr !== CR) throw new Invalid(cursor.at, 'a chunk that is longer than it says')
  if (lf !== undefined && lf !== LF) throw new Invalid(cursor.at + 1, 'a bare CR')
  if (lf === undefined) throw new Incomplete()
  cursor.at += 2
}

/** Every value of a field, in order; `name` is in lower case. */
export function valuesOf(fields: readonly Field[], name: string): string[] {
  return fields.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
}

/** The members of a list field, trimmed and in lower case. */
export function membersOf(fields: readonly Field[], name: string): string[] {
  const members = valuesOf(fields, name).flatMap((value) => value.split(','))
  return members.map((member) => withoutOws(member).toLowerCase()).filter((member) => member !== '')
}
