/** Upgrades: what a client offers to change its connection to (RFC 9110, section 7.8). */
import type { Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { excerpt } from './excerpt.ts'
import { membersOf } from './field-name.ts'

/** Other versions of HTTP, and TLS below it: the request means the same without them, and they are left out. */
const SAME_REQUEST = /^(h2c?|https?(\/.*)?|tls(\/.*)?)$/

/**
 * The protocols that the request offers, in lower case; empty if it is an HTTP request and nothing else. An
 * `Upgrade` field that `Connection` does not name means nothing, nor does one in HTTP/1.0.
 */
export function offeredUpgrades({
  httpVersion,
  rawHeaders,
}: {
  readonly httpVersion: string
  readonly rawHeaders: readonly string[]
}): readonly string[] {
  if (httpVersion !== '1.1') return NONE
  let offers: string[] | undefined
  let nominated = false
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length !== 7 && name.length !== 10) continue
    const lower = name.toLowerCase()
    if (lower === 'upgrade') offers = [...(offers ?? []), ...membersOf(rawHeaders[i + 1] as string)]
    else if (lower === 'connection') nominated ||= membersOf(rawHeaders[i + 1] as string).includes('upgrade')
  }
  if (!nominated || !offers) return NONE
  return offers.filter((protocol) => !SAME_REQUEST.test(protocol))
}

const NONE: readonly string[] = []

/** Why the route does not let the request offer these, or `undefined` if it does. */
export function upgradeRefusal(offered: readonly string[], route: Route): Refusal | undefined {
  const other = offered.find((protocol) => !route.upgrades.includes(protocol))
  if (other === undefined && offered.length < 2) return undefined
  const cause =
    other === undefined
      ? 'The request offers more than one protocol to upgrade to. Offer one.'
      : `The route ${route.name} allows no upgrade to ${excerpt(other)}. Name it under the route's upgrades to ` +
        'allow it, or send the request without Upgrade.'
  return { code: 'unsupported-upgrade', detail: `${cause} Nothing was sent.` }
}

export const NOT_ALONE: Refusal = {
  code: 'unsupported-upgrade',
  detail:
    'An upgrade must be a GET without a body, sent when every answer on its connection has come. Nothing was sent.',
}
