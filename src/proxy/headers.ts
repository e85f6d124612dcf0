/**
 * Header fields between two hops: everything end-to-end goes on as received (order, case, duplicates), what
 * belongs to one connection stays there (RFC 9110, section 7.6.1).
 */
import type { IncomingMessage } from 'node:http'
import type { Config, Upstream } from '../config/config.ts'
import { membersOf, namesField } from '../request/field-name.ts'

/** Names and values in turn. */
export type RawHeaders = readonly string[]

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** The field names that `Connection` fields nominate as hop-by-hop, lower case. */
function nominated(raw: RawHeaders): Set<string> | undefined {
  let names: Set<string> | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue
    for (const field of membersOf(raw[i + 1] as string)) {
      // Naming itself or the framing changes nothing: those are rewritten at every hop anyway.
      if (field === 'close' || field === 'content-length' || HOP_BY_HOP.has(field)) continue
      names ??= new Set()
      names.add(field)
    }
  }
  return names
}

const HOP_BY_HOP_AND_TRAILER = new Set([...HOP_BY_HOP, 'trailer'])

/**
 * What the resource's answer passes on to the client. `Trailer` is kept only where trailers can follow: node
 * throws if it stands in an answer that isn't chunked.
 */
export function answerHeaders(raw: RawHeaders, trailersFollow: boolean): string[] {
  return endToEnd(raw, trailersFollow ? HOP_BY_HOP : HOP_BY_HOP_AND_TRAILER)
}

/** @param replaced a field that goes too, with all that a resource could take for it. */
function endToEnd(raw: RawHeaders, drop: ReadonlySet<string>, replaced?: string): string[] {
  const nominees = nominated(raw)
  const kept: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const lower = name.toLowerCase()
    if (drop.has(lower) || nominees?.has(lower)) continue
    if (replaced !== undefined && namesField(name, replaced)) continue
    kept.push(name, raw[i + 1] as string)
  }
  return kept
}

/** What a request passes on to the resource, compiled once for a route. */
export class RequestHeaders {
  readonly #drop: ReadonlySet<string>
  readonly #keyHeader: string
  readonly #upstream: Upstream

  /** Names are dropped besides the hop-by-hop ones if `forwardClaim` is false. */
  constructor(upstream: Upstream, forwardClaim: boolean, claim: Config['claim']) {
    const drop = new Set(HOP_BY_HOP)
    // Expect ends here: the sidecar says 100 itself (RFC 9110, section 10.1.1).
    drop.add('expect')
    if (upstream.host === 'rewrite') drop.add('host')
    if (!forwardClaim)
      for (const name of [claim.taskHeader, claim.tokenHeader, claim.holderHeader]) drop.add(name)
    this.#drop = drop
    this.#keyHeader = claim.operationHeader
    this.#upstream = upstream
  }

  /**
   * The fields to send; `Content-Length` is among them if the client sent it.
   *
   * @param providerKey what the resource is told as the operation's key, instead of what the client sent.
   */
  of(req: IncomingMessage, method: string, providerKey?: string): string[] {
    const { forwardedHeaders, via, auth } = this.#upstream
    const headers = endToEnd(req.rawHeaders, this.#drop, auth?.header)
    if (forwardedHeaders) {
      headers.push('X-Forwarded-For', req.socket.remoteAddress ?? 'unknown')
      headers.push('X-Forwarded-Host', req.headers.host ?? '')
      headers.push('X-Forwarded-Proto', 'encrypted' in req.socket ? 'https' : 'http')
    }
    if (via) headers.push('Via', `${req.httpVersion} fencegate`)
    if (providerKey !== undefined) {
      const at = indexOf(headers, this.#keyHeader)
      if (at >= 0) headers[at + 1] = providerKey
    }
    // The answer to TRACE shows the client what the resource was sent (RFC 9110, section 9.3.8).
    if (auth && method.toUpperCase() !== 'TRACE') headers.push(auth.header, auth.value)
    return headers
  }
}

/** Whether the request has a body to send, by its framing (RFC 9112, section 6.3). */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length']
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0)
}

/** Where the first field of this name stands, which is given in lower case; -1 if there is none from `start` on. */
export function indexOf(raw: RawHeaders, field: string, start = 0): number {
  for (let i = start; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.length === field.length && name.toLowerCase() === field) return i
  }
  return -1
}

/** The values of every field of this name, which is given in lower case. */
export function valuesOf(raw: RawHeaders, field: string): string[] {
  const values: string[] = []
  for (let i = indexOf(raw, field); i >= 0; i = indexOf(raw, field, i + 2)) values.push(raw[i + 1] as string)
  return values
}

/** Header fields as undici hands them over: bytes, which are Latin-1 on the wire. */
export function decodeRaw(raw: unknown): string[] {
  return ((raw ?? []) as Buffer[]).map((part) => part.toString('latin1'))
}
