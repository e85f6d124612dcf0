/** What the client is told when an exchange with the resource fails: not sent, or unknown; never a guess. */
import type { Refusal } from '../errors.ts'
import type { UnknownReason } from '../journal/records.ts'
import type { Claim } from '../token.ts'
import { TrailerError } from './upload.ts'
import { connectFailure } from './upstream.ts'

export function upstreamUnreachable(claim: Partial<Claim>, error: Error, origin: string): Refusal {
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
    detail: `${why(error, code, timeout)} Whether the resource applied it is unknown: look there before you repeat it.`,
  }
}

function why(error: Error, code: string, timeout: boolean): string {
  if (timeout) return 'The write was sent, and no whole answer came in time.'
  if (error instanceof TrailerError) return `The write was cut off: ${error.message}.`
  return `The write was sent, and the connection ended before a whole answer came (${code}).`
}
