/**
 * The strict reader: which requests a stream of bytes holds, by RFC 9112 where it leaves no choice, and by its
 * stricter choice where it leaves one. Whatever it does not see as a request must never reach the resource.
 *
 * Stricter than a server has to be: one way to delimit a body (`Content-Length` once in digits, or
 * `Transfer-Encoding: chunked` alone and in HTTP/1.1), only versions 1.0 and 1.1, and nothing after CONNECT.
 */
import {
  Cursor,
  type Field,
  Incomplete,
  Invalid,
  MAX_LENGTH,
  membersOf,
  readChunked,
  readExactly,
  readFields,
  TOKEN,
  valuesOf,
} from './grammar.ts'

/** A length is exact at any size. */
export type Framing = 'none' | 'chunked' | { readonly length: bigint }

export interface StrictRequest {
  /** Offset of its first byte. */
  readonly at: number
  readonly method: string
  /** As received. */
  readonly target: string
  readonly version: '1.0' | '1.1'
  readonly fields: readonly Field[]
  readonly framing: Framing
  /** What came of it, if the request is not whole. */
  readonly body: Buffer
  readonly trailers: readonly Field[]
  /** Whether another request may follow on the connection. */
  readonly persistent: boolean
  readonly whole: boolean
}

/** Why no more requests are seen. `begun`: the request in which it happened, if its head is whole and valid. */
export type Rest =
  | { readonly kind: 'clean' }
  /** The last request said that none follows: what comes behind it is nobody's. */
  | { readonly kind: 'closed'; readonly at: number }
  | { readonly kind: 'incomplete'; readonly begun: StrictRequest | undefined }
  | {
      readonly kind: 'invalid'
      readonly at: number
      readonly why: string
      readonly begun: StrictRequest | undefined
    }

export interface Stream {
  /** Whole and valid, in order. */
  readonly requests: readonly StrictRequest[]
  readonly rest: Rest
}

type Parsed = { readonly request: StrictRequest; readonly end: number } | { readonly rest: Rest }

export function parseStream(bytes: Buffer): Stream {
  const requests: StrictRequest[] = []
  for (let at = 0; ; ) {
    const parsed = parseRequest(bytes, at)
    if ('rest' in parsed) return { requests, rest: parsed.rest }
    requests.push(parsed.request)
    at = parsed.end
    if (!parsed.request.persistent) return { requests, rest: { kind: 'closed', at } }
  }
}

/** The request at `at`, or why there is none. */
export function parseRequest(bytes: Buffer, at: number): Parsed {
  const cursor = new Cursor(bytes, at)
  let head: Head | undefined
  const data: Buffer[] = []
  const request = (trailers: readonly Field[], whole: boolean): StrictRequest => ({
    ...(head as Head),
    body: Buffer.concat(data),
    trailers,
    whole,
  })
  try {
    // RFC 9112, section 2.2: empty lines before a request line, however they end, belong to no request.
    while (startsWithLineEnd(cursor)) cursor.at++
    if (cursor.atEnd) return { rest: { kind: 'clean' } }
    head = readHead(cursor)
    const trailers = readBody(cursor, head.framing, data)
    return { request: request(trailers, true), end: cursor.at }
  } catch (error) {
    const begun = head && request([], false)
    if (error instanceof Incomplete) return { rest: { kind: 'incomplete', begun } }
    if (error instanceof Invalid)
      return { rest: { kind: 'invalid', at: error.at, why: error.message, begun } }
    throw error
  }
}

function startsWithLineEnd({ bytes, at }: Cursor): boolean {
  return bytes[at] === 13 || bytes[at] === 10
}

type Head = Omit<StrictRequest, 'body' | 'trailers' | 'whole'>

/**
 * RFC 9112, section 3, lets a reader take several spaces for one: the line has the same three words. Node's parser
 * takes RTSP and ICE for HTTP after some methods, and does not tell.
 */
const REQUEST_LINE = /^([^ ]+) +([!-~]+) +(?:HTTP|RTSP|ICE)\/(1\.[01])$/
/** RFC 3986's characters of a host and port; empty where the target has no authority. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2}|\[[0-9A-Fa-f:.]+\])*(?::\d*)?$/

function readHead(cursor: Cursor): Head {
  const { at } = cursor
  const [, method = '', target = '', version] = REQUEST_LINE.exec(cursor.line()) ?? []
  if (version === undefined) throw new Invalid(at, 'a request line that is none')
  if (!TOKEN.test(method)) throw new Invalid(at, 'a method that is no token')
  const fields = readFields(cursor)
  const hosts = valuesOf(fields, 'host')
  if (hosts.length > 1 || (hosts.length === 0 && version === '1.1')) throw new Invalid(at, 'not one Host')
  if (!HOST.test(hosts[0] ?? '')) throw new Invalid(at, 'a Host that is none')
  const options = membersOf(fields, 'connection')
  const asked = version === '1.1' || options.includes('keep-alive')
  return {
    at,
    method,
    target,
    version: version as Head['version'],
    fields,
    framing: framingOf(fields, version, at),
    persistent: asked && !options.includes('close') && method !== 'CONNECT',
  }
}

/** RFC 9112, section 6.3. */
function framingOf(fields: readonly Field[], version: string, at: number): Framing {
  const lengths = valuesOf(fields, 'content-length')
  const codings = valuesOf(fields, 'transfer-encoding')
  if (lengths.length + codings.length > 1) throw new Invalid(at, 'more than one field delimits the body')
  if (codings[0] !== undefined) {
    if (codings[0].toLowerCase() !== 'chunked') throw new Invalid(at, 'a transfer coding that is not chunked')
    if (version !== '1.1') throw new Invalid(at, 'a transfer coding in HTTP/1.0')
    return 'chunked'
  }
  if (lengths[0] === undefined) return 'none'
  if (!/^[0-9]+$/.test(lengths[0])) throw new Invalid(at, 'a Content-Length that is none')
  const length = BigInt(lengths[0])
  if (length > MAX_LENGTH) throw new Invalid(at, 'a Content-Length beyond counting')
  return { length }
}

function readBody(cursor: Cursor, framing: Framing, data: Buffer[]): readonly Field[] {
  if (framing === 'chunked') {
    const trailers = readChunked(cursor, data)
    const reframes = trailers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))
    if (reframes) throw new Invalid(cursor.at, 'a trailer that delimits the body')
    return trailers
  }
  if (framing !== 'none') readExactly(cursor, framing.length, data)
  return []
}
