/**
 * Announcements: `POST /.well-known/fencegate/announce` raises the mark and hands over without a write, so that
 * a new holder fences the old one from the moment it holds the lease.
 *
 * The claim is read as for a write: from the headers, or for a task that a path names from the target that
 * such a write would have, `announce?path=/settlements/42/x` (and `&method=PUT`, if its route is not for POST).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ClaimConfig } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { readClaim } from '../request/claim.ts'
import type { RequestHead } from '../request/route-match.ts'
import type { Router } from '../request/router.ts'
import { pathOf } from '../request/target.ts'
import type { Claim, Token } from '../token.ts'
import { answerEarly } from './rejection.ts'

/** The only part of the data port that is not the resource's. */
const OWN = '/.well-known/fencegate/'
const ANNOUNCE = `${OWN}announce`

export function isOwn(target: string): boolean {
  return target.startsWith(OWN)
}

export function readAnnouncement(
  head: RequestHead,
  router: Router,
  config: ClaimConfig,
): { claim: Claim } | { refusal: Refusal } {
  if (pathOf(head.target) !== ANNOUNCE || head.method !== 'POST') return { refusal: NOT_FOUND }
  const parameters = new URLSearchParams(head.target.slice(ANNOUNCE.length))
  const [target, ...others] = parameters.getAll('path')
  const [method = 'POST', ...otherMethods] = parameters.getAll('method')
  if (others.length > 0 || otherMethods.length > 0) return { refusal: TWO_TARGETS }
  if (target === undefined) return readClaim(head, UNROUTED, config)
  const matched = router.match({ ...head, method, target })
  return 'refusal' in matched ? matched : readClaim(head, matched, config)
}

const UNROUTED = { task: undefined }

const NOT_FOUND: Refusal = {
  code: 'not-found',
  detail: `Only POST ${ANNOUNCE} is served here. Nothing was sent.`,
}

const TWO_TARGETS: Refusal = {
  code: 'ambiguous-target',
  detail: 'The announcement names its path or method more than once; nothing was raised. Name each once.',
}

export function answerAnnouncement(req: IncomingMessage, res: ServerResponse, mark: Token): void {
  answerEarly(req, res, { status: 204, headers: { 'Fencing-Mark': mark.toString() } })
}
