/** What the gate says when it says no: cause and remedy, in one place. */
import type { Refusal } from '../errors.ts'
import type { OperationRecord } from '../journal/operations.ts'
import type { HeldWrite } from '../store/mark-store.ts'
import type { Claim, Token } from '../token.ts'
import { keepsOut } from './decision.ts'
import type { GateLimits } from './limits.ts'

const RETRY_AFTER_SECONDS = 1
/** Record ids that one refusal lists, at most. */
const MAX_LISTED = 20

export function staleToken(claim: Claim, highest: Token, operation?: OperationRecord): Refusal {
  return {
    ...claim,
    ...(operation && { operation: { state: operation.state, status: operation.answer?.status } }),
    code: 'stale-token',
    highest,
    detail:
      'A holder with a higher token has taken over this task; nothing was sent. Stop this work: ' +
      'the lease is lost and no retry with this token can succeed.',
  }
}

export function tokenJump(claim: Claim, highest: Token, limit: Token): Refusal {
  return {
    ...claim,
    code: 'token-jump',
    highest,
    detail:
      `The token is more than ${limit} above the highest on record; nothing was sent. Check where the ` +
      'token comes from; if the jump is right, raise maxTokenJump.',
  }
}

export function handoverPending(claim: Claim, grace: boolean): Refusal {
  return {
    ...claim,
    code: 'handover-pending',
    highest: claim.token,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    detail: grace
      ? 'The sidecar stopped uncleanly and a lower write may still be at work in the resource until ' +
        'restartGrace has passed. Nothing was sent and lower tokens are already stale. Repeat the request.'
      : 'A write with a lower token is still open. Nothing was sent and lower tokens are already stale. ' +
        'Repeat the request.',
  }
}

export function storeUnavailable(claim: Claim): Refusal {
  return {
    ...claim,
    code: 'store-unavailable',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    detail:
      "The task's mark could not be read or written in time; nothing was sent. Repeat the request; " +
      "if it lasts, look at the sidecar's data directory and its disk.",
  }
}

export function taskFrozen(claim: Claim): Refusal {
  return {
    ...claim,
    code: 'task-frozen',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    detail:
      'An operator has frozen this task; nothing was sent. Wait until it is thawed: then the holder that was ' +
      'chosen may go on.',
  }
}

export function tokenConflict(claim: Claim): Refusal {
  return {
    ...claim,
    code: 'token-conflict',
    highest: claim.token,
    detail:
      'Another holder has written with this token before; nothing was sent. Two holders of one token mean ' +
      'that the lease service granted it twice, or that a worker kept a name that is not its own. Acquire ' +
      'the lease anew.',
  }
}

export function handoverHeld(claim: Claim, held: readonly HeldWrite[]): Refusal {
  const ids = held.filter((write) => keepsOut(write, claim.token)).map(({ id }) => id)
  return {
    ...claim,
    code: 'handover-held',
    highest: claim.token,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    held: ids.slice(0, MAX_LISTED),
    detail:
      `Whether ${ids.length} earlier ${ids.length === 1 ? 'write was' : 'writes were'} applied is unknown, and ` +
      'this route waits until somebody has looked; nothing was sent. Resolve each record with ' +
      '"fencegate resolve", then repeat the request.',
  }
}

export function superseded(claim: Claim, highest: Token): Refusal {
  return {
    ...claim,
    code: 'superseded',
    highest,
    detail:
      'A holder with a higher token took over and could not wait for this write any longer, so its ' +
      'connection was cut. Whether the resource applied it is unknown. Stop this work: the lease is lost.',
  }
}

export function overloaded(claim: Claim, limit: keyof GateLimits): Refusal {
  return {
    code: 'overloaded',
    ...claim,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    detail: `limits.${limit} is reached. Nothing was sent. Send fewer writes at once, or raise the limit.`,
  }
}

export function operationInProgress(claim: Claim): Refusal {
  return {
    ...claim,
    code: 'operation-in-progress',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    detail: 'An attempt of this operation is open. Nothing was sent. Repeat the request with the same key.',
  }
}
