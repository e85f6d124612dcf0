/** What the client is told when an exchange with the resource fails: not sent, or unknown; never a guess. */
import type { Refusal } from '../errors.ts'
import type { UnknownReason } from '../journal/records.ts'
import type { Claim } from '../token.ts'
import { BodyError, SilenceError, TooLargeError, TrailerError } from './upload.ts'
import { connectFailure } from './upstream-connector.ts'

/** Why a write was not sent: its own client, or the resource. */
export function notSent(claim: Partial<Claim>, error: Error, origin: string): Refusal {
  if (error instanceof TrailerError) return { ...claim, ...NO_TRAILERS }
  if (error instanceof TooLargeError) return { ...claim, ...BODY_TOO_LARGE }
  if (error instanceof SilenceError) {
    return {
      ...claim,
      code: 'body-timeout',
      detail: `The body did not come in time: ${error.message}. Nothing was sent.`,
    }
  }
  return upstreamUnreachable(claim, error, origin)
}

export const NO_TRAILERS: Refusal = {
  code: 'unsupported-trailer',
  detail:
    'Request trailers cannot be forwarded, and are not dropped in silence. Nothing was sent. Leave them off.',
}

export const BODY_TOO_LARGE: Refusal = {
  code: 'body-too-large',
  detail: 'The body is larger than limits.bodySize. Nothing was sent. Send less at once, or raise the limit.',
}

function upstreamUnreachable(claim: Partial<Claim>, error: Error, origin: string): Refusal {
  return {
    ...claim,
    code: 'upstream-unreachable',
    retryAfterSeconds: 1,
    detail: connectFailure(error, origin),
  }
}

/** Why the outcome of a write that was sent is unknown. */
export function reasonOf({ code }: Error & { code?: string }): UnknownReason {
  const timeout = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT'
  return timeout ? 'timeout' : 'connection-lost'
}

export function outcomeUnknown(claim: Partial<Claim>, error: Error & { code?: string }): Refusal {
  const code = error.code ?? error.name
  const timeout = reasonOf(error) === 'timeout'
  return {
    ...claim,
    code: 'outcome-unknown',
    ...(timeout && { status: 504 as const }),
    detail: `${why(error, code, timeout)} If it was a write, look at the resource before you repeat it: it may be applied.`,
  }
}

function why(error: Error, code: string, timeout: boolean): string {
  if (timeout) return 'The request was sent, and no whole answer came in time.'
  if (error instanceof BodyError) return `The request was cut off: ${error.message}.`
  return `The request was sent, and the connection ended before a whole answer came (${code}).`
}
