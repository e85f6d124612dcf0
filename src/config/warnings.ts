/** What is valid but probably not meant. */

import type { X509Certificate } from 'node:crypto'
import { adminWarnings } from './admin-warnings.ts'
import type { Config, Route } from './config.ts'
import { certificatesOf, nameOf } from './pem.ts'
import { formatDuration } from './values.ts'

/** @param now wall-clock time, which certificates are judged by. */
export function warningsOf(config: Config, now = Date.now()): string[] {
  return [
    ...shortGrace(config),
    ...adminWarnings(config),
    ...sharedScopes(config),
    ...certificatesOutOfDate(config, new Date(now)),
  ]
}

function shortGrace({ routes, upstream, restartGraceMs }: Config): string[] {
  const slow = [
    { keyPath: 'upstream', upstream },
    ...routes.map((route, index) => ({ keyPath: `routes[${index}].upstream`, upstream: route.upstream })),
  ].sort((a, b) => b.upstream.headersTimeoutMs - a.upstream.headersTimeoutMs)[0]
  if (!slow || slow.upstream.headersTimeoutMs <= restartGraceMs) return []
  const headersTimeout = formatDuration(slow.upstream.headersTimeoutMs)
  return [
    `restartGrace (${formatDuration(restartGraceMs)}) is shorter than ${slow.keyPath}.headersTimeout ` +
      `(${headersTimeout}): after an unclean stop the next holder's first write could overlap one that the ` +
      `resource is still working on. Set restartGrace to ${headersTimeout} or more, or the time-out lower.`,
  ]
}

/** A worker that names its charge and its entry in the ledger alike would have one of them refused. */
function sharedScopes({ routes }: Config): string[] {
  const owners = new Map<string, Route>()
  return routes.flatMap((route, index) => {
    if (!route.once) return []
    const { scope } = route.once
    const owner = owners.get(scope) ?? route
    owners.set(scope, owner)
    if (owner.upstream.origin === route.upstream.origin) return []
    return [
      `routes[${index}].once.scope: ${scope} is that of route ${owner.name} too, which leads to another resource: a ` +
        'key that a task uses for both is refused as operation-mismatch. Give each resource a scope of its own.',
    ]
  })
}

interface Bundle {
  readonly keyPath: string
  readonly pem: string | undefined
}

/** A chain is out of date if one certificate of it is; a bundle of CAs, which outlives some of them, if all are. */
function certificatesOutOfDate({ tls, upstream, routes }: Config, now: Date): string[] {
  const upstreams = [
    { keyPath: 'upstream.tls', tls: upstream.tls },
    ...routes.map((route, index) => ({ keyPath: `routes[${index}].upstream.tls`, tls: route.upstream.tls })),
  ]
  const chains = [
    { keyPath: 'tls.cert', pem: tls?.cert },
    ...upstreams.map(({ keyPath, tls }) => ({ keyPath: `${keyPath}.cert`, pem: tls.cert })),
  ]
  const authorities = [
    { keyPath: 'tls.clientCa', pem: tls?.clientCa },
    ...upstreams.map(({ keyPath, tls }) => ({ keyPath: `${keyPath}.ca`, pem: tls.ca })),
  ]
  return [
    ...inEach(chains, (certificates) => certificates.map((each) => outOfDate(each, now)).find(Boolean)),
    ...inEach(authorities, (certificates) => {
      const faults = certificates.map((each) => outOfDate(each, now))
      return faults.every(Boolean) ? faults[0] : undefined
    }),
  ]
}

/** What routes inherit is told once, under the first key path. */
function inEach(
  bundles: readonly Bundle[],
  judge: (certificates: X509Certificate[]) => string | undefined,
): string[] {
  const seen = new Set<string>()
  return bundles.flatMap(({ keyPath, pem }) => {
    if (pem === undefined || seen.has(pem)) return []
    seen.add(pem)
    const fault = judge(certificatesOf(pem))
    return fault === undefined ? [] : [`${keyPath}: ${fault}`]
  })
}

function outOfDate(certificate: X509Certificate, now: Date): string | undefined {
  const { validFromDate, validToDate } = certificate
  const name = nameOf(certificate)
  if (now < validFromDate) {
    return `the certificate of ${name} is not valid before ${validFromDate.toISOString()}: set this machine's clock, or issue another`
  }
  if (now > validToDate)
    return `the certificate of ${name} expired at ${validToDate.toISOString()}: replace it`
  return undefined
}
