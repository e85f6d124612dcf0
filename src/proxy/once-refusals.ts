/** Why an attempt of an operation is not sent, beside what the gate says: cause and remedy. */
import type { OnceRule, Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import type { OperationRecord } from '../journal/operations.ts'
import type { Claim } from '../token.ts'

/** By as much a clock is set back in its daily work. */
const CLOCK_ERROR_MS = 10_000

/** Why an operation that is on record, and isn't done, is not attempted again. */
export function whyNotAgain(found: OperationRecord, rule: OnceRule, claim: Claim): Refusal | undefined {
  if (found.state === 'done') return undefined
  const unknown = found.state === 'unknown'
  const again = isYoung(found, rule)
    ? !unknown || rule.repeatUnknown === 'send'
    : !unknown && rule.expired === 'send'
  if (again) return undefined
  return {
    ...claim,
    code: unknown ? 'operation-unknown' : 'operation-expired',
    operation: { state: found.state, status: undefined },
    detail: unknown
      ? 'What became of an earlier attempt of this operation is unknown. Nothing was sent. Find out, and say so with ' +
        '"fencegate resolve".'
      : 'The provider may have forgotten the key of this operation, so a repeat could be applied twice. Nothing was ' +
        'sent. Look there; if it was not applied, give the operation a new key.',
  }
}

/** Whether the provider still knows its key. One from the future is of no known age: the clock was set back since. */
function isYoung({ firstAtMs }: OperationRecord, { keyLifetimeMs }: OnceRule): boolean {
  const ageMs = Date.now() - firstAtMs
  return ageMs >= -CLOCK_ERROR_MS && ageMs < keyLifetimeMs
}

export function mismatch(claim: Claim): Refusal {
  return {
    ...claim,
    code: 'operation-mismatch',
    detail:
      'This operation key was used for a request with another method, target or body. Nothing was sent. Give each ' +
      'operation a key of its own.',
  }
}

export function bodyTooLarge(claim: Claim, { name }: Route, { maxBodyBytes }: OnceRule): Refusal {
  return {
    ...claim,
    code: 'body-too-large',
    detail:
      `The body is larger than once.maxBody of the route ${name}, ${maxBodyBytes} bytes, and an operation ` +
      'is known by its whole body. Nothing was sent. Send less at once, or raise the limit.',
  }
}
