/**
 * A client made of bytes: sends exactly what a test says and reads the answer strictly. Nothing is added to a
 * request and nothing is taken from an answer.
 */
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import tls from 'node:tls'
import { chunk, lines } from './upstream-exchange.ts'
import { DEADLINE_MS, within } from './wait.ts'
import { Body, fieldValues, framingOf, type HeaderPair, readBody, readHead, WireReader } from './wire.ts'

export interface RawRequest {
  readonly method?: string
  readonly target?: string
  /** Sent after `Host`, unless one of them is `Host`. */
  readonly headers?: readonly HeaderPair[]
  /** With a Content-Length, unless `chunked` or the headers delimit it. */
  readonly body?: string | Buffer | undefined
  readonly chunked?: boolean
  /** With `chunked` only. */
  readonly trailers?: readonly HeaderPair[]
}

export interface Interim {
  readonly status: number
  readonly headers: readonly HeaderPair[]
}

export interface RawAnswer extends Interim {
  readonly reason: string
  /** Every value of a field, in order. */
  values(name: string): string[]
  readonly body: Body
  /** The 1xx answers before it. */
  readonly interim: readonly Interim[]
}

/** The bytes of a request. */
export function encode(request: RawRequest): Buffer {
  const { method = 'PUT', target = '/x', headers = [], body, chunked = false, trailers = [] } = request
  const fields: HeaderPair[] = fieldValues(headers, 'host').length > 0 ? [] : [['Host', 'sidecar.test']]
  fields.push(...headers)
  const bytes = Buffer.from(body ?? '')
  const delimited = fieldValues(headers, 'content-length').length > 0
  if (chunked) fields.push(['Transfer-Encoding', 'chunked'])
  else if (body !== undefined && !delimited) fields.push(['Content-Length', String(bytes.length)])
  const parts: Buffer[] = [Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines(fields)}\r\n`, 'latin1')]
  if (chunked && bytes.length > 0) parts.push(chunk(bytes))
  if (chunked) parts.push(Buffer.from(`0\r\n${lines(trailers)}\r\n`))
  else parts.push(bytes)
  return Buffer.concat(parts)
}

export class RawClient {
  readonly socket: Socket
  readonly reader: WireReader

  private constructor(socket: Socket) {
    this.socket = socket
    this.reader = new WireReader(socket)
  }

  /** Over TLS, where there are options for it; rejects if the handshake fails. */
  static async connect(port: number, secure?: tls.ConnectionOptions): Promise<RawClient> {
    const options = { port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }
    const socket = secure ? tls.connect({ ...options, ...secure }) : net.connect(options)
    await once(socket, secure ? 'secureConnect' : 'connect')
    return new RawClient(socket)
  }

  /** Sends bytes as they are; strings are latin1. Resolves when the system has taken them. */
  send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, () => resolve())
    })
  }

  /** Sends a request and reads its answer. The connection stays open. */
  async exchange(request: RawRequest, ms = DEADLINE_MS): Promise<RawAnswer> {
    void this.send(encode(request))
    return this.answer(request.method, ms)
  }

  /** The next final answer, whole; rejects if the connection ends before. */
  answer(method = 'PUT', ms = DEADLINE_MS): Promise<RawAnswer> {
    return within(this.#read(method), 'a whole answer', ms)
  }

  async #read(method: string): Promise<RawAnswer> {
    const interim: Interim[] = []
    for (;;) {
      const head = await this.head()
      if (head.status < 200) {
        interim.push(head)
        continue
      }
      const bodiless = method === 'HEAD' || head.status === 204 || head.status === 304
      const body = new Body()
      await readBody(this.reader, bodiless ? 'none' : framingOf(head.headers, 'until-close'), body)
      return { ...head, body, interim, values: (name) => fieldValues(head.headers, name) }
    }
  }

  /** The head of the next answer, interim or final. */
  async head(): Promise<Interim & { reason: string }> {
    const { startLine, headers } = await readHead(this.reader)
    const [, status, reason] = /^HTTP\/1\.1 ([1-9]\d\d) (.*)$/.exec(startLine) ?? []
    if (status === undefined || reason === undefined) throw new Error(`not a status line: ${startLine}`)
    return { status: Number(status), reason, headers }
  }

  /** Resolves when the peer has ended the connection, with how. */
  async ended(ms = DEADLINE_MS): Promise<'fin' | 'error'> {
    const { socket } = this
    const end = new Promise<void>((resolve) => {
      for (const event of ['end', 'error', 'close']) socket.once(event, () => resolve())
    })
    if (!this.reader.ended) await within(end, 'the end of the connection', ms)
    return this.reader.ended ?? 'fin'
  }

  /** Goes away as a process that ends does. */
  close(): void {
    this.socket.destroy()
  }

  /** Goes away with a reset. */
  reset(): void {
    this.socket.resetAndDestroy()
  }
}

/** One request on a connection of its own. */
export async function exchange(
  port: number,
  request: RawRequest,
  ms = DEADLINE_MS,
  secure?: tls.ConnectionOptions,
): Promise<RawAnswer> {
  const client = await RawClient.connect(port, secure)
  try {
    return await client.exchange(request, ms)
  } finally {
    client.close()
  }
}
