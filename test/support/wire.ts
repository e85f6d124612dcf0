/**
 * HTTP/1.1 as bytes, read strictly and without node:http: what the recording upstream makes of requests and
 * the raw client of answers. Header names, values, order and duplicates stay as they were on the wire.
 */
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'

export type HeaderPair = readonly [name: string, value: string]

/** The bytes were not HTTP/1.1. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

/** The connection ended inside a message, or before it. */
export class CutError extends Error {
  override readonly name = 'CutError'
}

/** Bytes that a peer is allowed to send ahead of us. */
const BUFFER_LIMIT = 1 << 20

/** A socket's bytes in order, pulled by whoever parses. */
export class WireReader {
  /** Bytes received, read or not. */
  received = 0
  /** Why no more bytes come: the peer's FIN, or an error such as ECONNRESET. */
  ended: 'fin' | 'error' | undefined
  readonly #socket: Socket
  #buffer: Buffer = Buffer.alloc(0)
  #wake: (() => void) | undefined
  #paused = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.length
      this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk])
      if (this.#buffer.length > BUFFER_LIMIT) socket.pause()
      this.#wake?.()
    })
    socket.on('end', () => this.#end('fin'))
    socket.on('error', () => this.#end('error'))
    socket.on('close', () => this.#end('fin'))
  }

  /** Stops taking bytes, so that the peer's writes back up. */
  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
    this.#wake?.()
  }

  /** Resolves at the next byte; false at the end. */
  async ready(): Promise<boolean> {
    while (this.#paused || this.#buffer.length === 0) {
      if (this.ended && this.#buffer.length === 0) return false
      await this.#more()
    }
    return true
  }

  /** One line without its CRLF, as latin1. */
  async line(): Promise<string> {
    for (let from = 0; ; ) {
      const lf = this.#buffer.indexOf(0x0a, from)
      if (lf > 0 && this.#buffer[lf - 1] === 0x0d) return this.#take(lf + 1).toString('latin1', 0, lf - 1)
      if (lf >= 0) throw new WireError('a line ends with a bare LF')
      from = this.#buffer.length
      if (this.ended) throw new CutError('the connection ended inside a line')
      await this.#more()
    }
  }

  /** At least one byte and at most `max`. */
  async some(max: number): Promise<Buffer> {
    if (!(await this.ready())) throw new CutError('the connection ended inside a body')
    return this.#take(Math.min(max, this.#buffer.length))
  }

  #take(count: number): Buffer {
    const taken = this.#buffer.subarray(0, count)
    this.#buffer = this.#buffer.subarray(count)
    if (!this.#paused && this.#buffer.length <= BUFFER_LIMIT) this.#socket.resume()
    return taken
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #end(how: 'fin' | 'error'): void {
    this.ended ??= how
    this.#wake?.()
  }
}

export interface Head {
  readonly startLine: string
  readonly headers: readonly HeaderPair[]
}

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*$/

export async function readHead(reader: WireReader): Promise<Head> {
  return { startLine: await reader.line(), headers: await readFields(reader) }
}

async function readFields(reader: WireReader): Promise<HeaderPair[]> {
  const fields: HeaderPair[] = []
  for (;;) {
    const line = await reader.line()
    if (line === '') return fields
    const field = FIELD.exec(line)
    if (!field) throw new WireError(`not a header field: ${JSON.stringify(line)}`)
    fields.push([field[1] as string, field[2] as string])
  }
}

/** Every value of a field, in order; names compare without case. */
export function fieldValues(headers: readonly HeaderPair[], name: string): string[] {
  const wanted = name.toLowerCase()
  return headers.filter(([key]) => key.toLowerCase() === wanted).map(([, value]) => value)
}

export type Framing = 'none' | 'chunked' | 'until-close' | { readonly length: number }

/** How a message's body is delimited; `otherwise` where no field says so. */
export function framingOf(headers: readonly HeaderPair[], otherwise: 'none' | 'until-close'): Framing {
  const lengths = fieldValues(headers, 'content-length')
  const codings = fieldValues(headers, 'transfer-encoding')
  if (lengths.length + codings.length > 1) throw new WireError('more than one field delimits the body')
  if (codings[0] !== undefined) {
    if (codings[0].toLowerCase() !== 'chunked') throw new WireError(`transfer coding ${codings[0]}`)
    return 'chunked'
  }
  if (lengths[0] === undefined) return otherwise
  if (!/^\d+$/.test(lengths[0])) throw new WireError(`content-length ${lengths[0]}`)
  return { length: Number(lengths[0]) }
}

/** Bodies up to this size are kept; of larger ones only the hash and the count. */
const KEPT_BYTES = 4 << 20

/** A body as it arrives. */
export class Body {
  bytes = 0
  /** Sizes of the chunks, where it is chunked. */
  readonly chunks: number[] = []
  trailers: readonly HeaderPair[] = []
  complete = false
  readonly #hash = createHash('sha256')
  readonly #kept: Buffer[] = []

  add(bytes: Buffer): void {
    this.bytes += bytes.length
    this.#hash.update(bytes)
    if (this.bytes <= KEPT_BYTES) this.#kept.push(bytes)
  }

  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  get data(): Buffer {
    if (this.bytes > KEPT_BYTES)
      throw new Error(`a body of ${this.bytes} bytes is not kept; compare its hash`)
    return Buffer.concat(this.#kept)
  }

  get text(): string {
    return this.data.toString()
  }
}

/** Reads a body to its end; `changed` is told of every step. Throws {@link CutError} if it isn't whole. */
export async function readBody(
  reader: WireReader,
  framing: Framing,
  body: Body,
  changed: () => void = () => {},
): Promise<void> {
  const take = async (length: number) => {
    for (let left = length; left > 0; ) {
      const bytes = await reader.some(left)
      left -= bytes.length
      body.add(bytes)
      changed()
    }
  }
  if (framing === 'chunked') {
    for (;;) {
      const size = /^([0-9a-fA-F]+)(;.*)?$/.exec(await reader.line())?.[1]
      if (size === undefined) throw new WireError('not a chunk size')
      const length = Number.parseInt(size, 16)
      if (length === 0) break
      body.chunks.push(length)
      await take(length)
      if ((await reader.line()) !== '') throw new WireError('a chunk is longer than it says')
    }
    body.trailers = await readFields(reader)
  } else if (framing === 'until-close') {
    while (await reader.ready()) {
      body.add(await reader.some(65_536))
      changed()
    }
    if (reader.ended !== 'fin') throw new CutError('the connection was reset inside a body')
  } else if (framing !== 'none') {
    await take(framing.length)
  }
  body.complete = true
  changed()
}

export function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
