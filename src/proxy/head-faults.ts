/** What Node's parser lets pass and is refused all the same: HTTP/1.1 forbids it, or it couldn't be sent on as it is. */
import type { IncomingMessage } from 'node:http'
import type { Limits } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { membersOf } from '../request/field-name.ts'
import { valuesOf } from './headers.ts'
import { BODY_TOO_LARGE, NO_TRAILERS } from './send-failures.ts'

/**
 * Fields without which a request means something else. A hop drops what `Connection` names, so that anybody who
 * gets a name onto that list could take an `If-Match` or an `Authorization` off somebody's write.
 */
const END_TO_END =
  /^(host|authorization|cookie|range|if(-.+)?|content-(?!length$).+|idempotency-key|destination|depth|overwrite|lock-token|(x-)?forwarded.*|x-.*method.*)$/

/** RFC 9110, section 7.2, and RFC 3986, section 3.2: a host, perhaps empty, and perhaps a port. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d*)?$/

/**
 * What is wrong with the head whatever it asks for (RFC 9112, sections 2.3, 3.2, 6.1 and 6.3). The connection must end:
 * not everybody would see the end of the request at the same place.
 */
export function malformedHead(
  { httpVersion, rawHeaders, headers }: IncomingMessage,
  { headerCount }: Limits,
): Refusal | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return malformed('Only HTTP/1.1 and HTTP/1.0 are spoken here.')
  }
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) {
    return malformed('HTTP/1.0 has no Transfer-Encoding, so nobody can say where the body ends.')
  }
  const dropped = membersOf(headers.connection ?? '').find((field) => END_TO_END.test(field))
  if (dropped !== undefined) {
    return malformed(
      `The Connection header names ${dropped}, which belongs to the request and not to the connection.`,
    )
  }
  const hosts = valuesOf(rawHeaders, 'host').length
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return malformed(`The request has ${hosts} Host headers. Send exactly one.`)
  }
  if (!HOST.test(headers.host ?? ''))
    return malformed('The Host header is not a host with or without a port.')
  const { 'transfer-encoding': coding, 'content-length': length } = headers
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return {
      code: 'unsupported-coding',
      detail: 'Only Transfer-Encoding: chunked is supported, once and alone. Nothing was sent.',
    }
  }
  if (length !== undefined && Number(length) > Number.MAX_SAFE_INTEGER) {
    return malformed('The Content-Length is larger than can be counted without rounding.')
  }
  const fields = rawHeaders.length / 2
  if (fields > headerCount) {
    return {
      code: 'head-too-large',
      detail: `The request has ${fields} header fields, more than limits.headerCount (${headerCount}). Nothing was sent.`,
    }
  }
  return undefined
}

function malformed(cause: string): Refusal {
  return { code: 'malformed-request', detail: `${cause} Nothing was sent.` }
}

/** What nobody would answer (RFC 9110, section 10.1.1), or is too long. */
export function unsupportedBody(
  { headers }: IncomingMessage,
  { bodySizeBytes }: Limits,
): Refusal | undefined {
  const { expect, 'content-length': length } = headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return {
      code: 'unsupported-expectation',
      detail: 'Only Expect: 100-continue is supported. Nothing was sent.',
    }
  }
  if (bodySizeBytes !== undefined && Number(length) > bodySizeBytes) return BODY_TOO_LARGE
  return undefined
}

/** Trailers that come unannounced are found when they are there; then the write has been sent but for its end. */
export function unsupportedTrailer({ headers }: IncomingMessage): Refusal | undefined {
  return headers.trailer === undefined ? undefined : NO_TRAILERS
}
