/** The configuration that tests of `request/` read requests by. */
import type { ClaimConfig, Route, Upstream } from '../../src/config/config.ts'
import { MAX_TOKEN } from '../../src/token.ts'

export const CLAIM: ClaimConfig = {
  taskHeader: 'fencing-task',
  tokenHeader: 'fencing-token',
  holderHeader: 'fencing-holder',
  operationHeader: 'idempotency-key',
  maxToken: MAX_TOKEN,
  maxTokenJump: undefined,
}

/** A route with the defaults of the file. */
export function routeOf(name: string, match: Route['match'], guard: Route['guard']): Route {
  return {
    name,
    match,
    guard,
    token: 'required',
    once: undefined,
    mode: 'enforce',
    handover: 'drain',
    onUnknown: 'proceed',
    intent: 'none',
    unknownStatuses: [],
    upgrades: [],
    refusalFormat: 'problem',
    upstream: {} as Upstream,
    forwardClaim: true,
    refusalHeaders: {},
  }
}
