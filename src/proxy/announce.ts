/**
 * Announcements: `POST /.well-known/fencegate/announce` raises the mark and hands over without a write, so that
 * a new holder fences the old one from the moment it holds the lease.
 *
 * The claim is read as for a write: from the headers, or for a task that a path names from the target that
 * such a write would have, `announce?path=/settlements/42/x` (and `&method=PUT`, if its route is not for POST).
 */
import type { ServerResponse } from 'node:http'
import type { ClaimConfig } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { readClaim } from '../request/claim.ts'
import type { RequestHead } from '../request/route-match.ts'
import type { Router } from '../request/router.ts'
import type { Claim, Token } from '../token.ts'

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
  const [path, query = ''] = head.target.split('?', 2)
  if (path !== ANNOUNCE || head.method !== 'POST') {
    return {
      refusal: { code: 'not-found', detail: `Only POST ${ANNOUNCE} is served here. Nothing was sent.` },
    }
  }
  const parameters = new URLSearchParams(query)
  const target = parameters.get('path')
  if (target === null) return readClaim(head, UNROUTED, config)
  const matched = router.match({ ...head, method: parameters.get('method') ?? 'POST', target })
  return 'refusal' in matched ? matched : readClaim(head, matched, config)
}

const UNROUTED = { task: undefined }

export function answerAnnouncement(res: ServerResponse, mark: Token): void {
  res.writeHead(204, { 'Fencing-Mark': mark.toString() }).end()
}
