/** One request at the recording upstream, and all that a script can do about it. */
import type { UpstreamConnection } from './recording-upstream.ts'
import type { Changes } from './wait.ts'
import type { Body, HeaderPair } from './wire.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly HeaderPair[]
  /** Every value of a field, in order. */
  values(name: string): string[]
  readonly body: Body
  readonly connection: number
}

export interface Answer {
  readonly status?: number
  readonly reason?: string
  readonly headers?: readonly HeaderPair[]
  readonly body?: string | Buffer
  /** `none`: as after HEAD, 204 and 304: neither a body nor a field that delimits one. */
  readonly framing?: 'length' | 'chunked' | 'until-close' | 'none'
  /** With `chunked` only. */
  readonly trailers?: readonly HeaderPair[]
}

/** Far longer than any test: the test's own deadline ends the wait. */
const FOREVER_MS = 0x7fffffff

export class Exchange {
  readonly request: ReceivedRequest
  /** Whether the connection can carry another request. */
  reusable = false
  readonly #connection: UpstreamConnection
  readonly #changes: Changes
  readonly #answered: () => void

  constructor(
    request: ReceivedRequest,
    connection: UpstreamConnection,
    changes: Changes,
    answered: () => void,
  ) {
    this.request = request
    this.#connection = connection
    this.#changes = changes
    this.#answered = answered
  }

  /** Resolves when the body is whole, with true; or when the peer has cut it, with false. */
  async wholeBody(): Promise<boolean> {
    await this.#when(() => this.request.body.complete || this.#connection.ended !== undefined)
    return this.request.body.complete
  }

  /** Resolves when at least `count` bytes of the body have arrived. */
  bodyBytes(count: number): Promise<void> {
    return this.#when(() => this.request.body.bytes >= count)
  }

  /** Resolves when the peer has ended the connection. */
  async gone(): Promise<undefined> {
    await this.#when(() => this.#connection.ended !== undefined)
  }

  async answer(answer: Answer = {}): Promise<void> {
    const { status = 200, reason = 'OK', headers = [], body = '', framing = 'length', trailers = [] } = answer
    const bytes = Buffer.from(body)
    const fields = [...headers]
    if (framing === 'length') fields.push(['content-length', String(bytes.length)])
    if (framing === 'chunked') fields.push(['transfer-encoding', 'chunked'])
    await this.write(`HTTP/1.1 ${status} ${reason}\r\n${lines(fields)}\r\n`)
    if (framing === 'chunked') {
      if (bytes.length > 0) await this.write(chunk(bytes))
      await this.write(`0\r\n${lines(trailers)}\r\n`)
    } else if (framing !== 'none' && bytes.length > 0) {
      await this.write(bytes)
    }
    this.#answered()
    this.reusable = framing !== 'until-close'
    if (!this.reusable) this.close()
  }

  /** Writes bytes as they are; strings are latin1. Resolves when the peer's buffers have taken them. */
  write(bytes: string | Buffer): Promise<void> {
    const { socket } = this.#connection
    return new Promise((resolve) => {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => resolve())
    })
  }

  /** Stops reading, so that the peer's writes back up. */
  pause(): void {
    this.#connection.reader.pause()
  }

  resume(): void {
    this.#connection.reader.resume()
  }

  /** An orderly end (FIN). */
  close(): void {
    this.#connection.socket.end()
  }

  /** A reset (RST), as after a crash. */
  reset(): void {
    this.#connection.socket.resetAndDestroy()
  }

  #when(condition: () => boolean): Promise<void> {
    return this.#changes.when(condition, 'the end of a script', FOREVER_MS)
  }
}

export function lines(fields: readonly HeaderPair[]): string {
  return fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
}

export function chunk(bytes: Buffer | string): Buffer {
  const data = Buffer.from(bytes)
  return Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')])
}
