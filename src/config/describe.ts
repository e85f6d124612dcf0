/** What is fenced and what is not, and who may write, in words: for the start-up line and for `check-config`. */
import { isLoopbackHost } from './addresses.ts'
import type { ClaimConfig, Config, OnceRule, Route } from './config.ts'
import { covers } from './path-template.ts'
import { certificatesOf, nameOf } from './pem.ts'
import { formatAge, formatSize } from './values.ts'

/** One line a route, in the order in which they are tried. */
export function describeRoutes({ routes, claim }: Config): string[] {
  return routes.map((route, index) => {
    const cover = routes.slice(0, index).find((earlier) => covers(earlier.match, route.match))
    if (cover) return `${route.name}: never reached, ${cover.name} takes every request`
    return `${route.name}: ${scope(route)} to ${route.upstream.origin}: ${treatment(route, claim)}${upgrades(route)}`
  })
}

/** Of the data port. */
export function describeTls({ tls }: Config): string {
  if (!tls) return 'none, the data port speaks plain HTTP'
  const asks = tls.clientCa === undefined ? 'not asked for' : tls.clientCertificate
  return `${describeCertificate(tls.cert)}; client certificates ${asks}`
}

/** The first certificate of a chain. */
export function describeCertificate(pem: string): string {
  const [leaf] = certificatesOf(pem)
  if (!leaf) return 'no certificate'
  const until = leaf.validToDate.toISOString().slice(0, 10)
  return `certificate ${nameOf(leaf)} until ${until}`
}

/** Of the admin port: who may do what there. Names, never tokens. */
export function describeAdmin({ admin: { listen, tokens } }: Config): string {
  if (tokens) {
    const names = tokens.named.map(({ name }) => name).join(', ')
    const reads = isLoopbackHost(listen.host)
      ? 'reads without a token'
      : 'reads without a token from this host alone'
    return `${tokens.named.length} ${tokens.named.length === 1 ? 'token' : 'tokens'} (${names}); ${reads}`
  }
  if (isLoopbackHost(listen.host)) return 'no tokens: reads alone, acts over the socket'
  return 'no tokens: health and metrics alone, the rest over the socket'
}

/** One line a client. */
export function describeClients({ clients }: Config): string[] {
  return clients.map(({ san, tasks }) => {
    const names = tasks.map((prefix) => `${prefix}*`).join(', ')
    return `${san.value} (${san.kind}) may write ${tasks.includes('') ? 'every task' : names}`
  })
}

/** One line a route with operations. */
export function describeOperations({ routes, operations }: Config): string[] {
  return routes.flatMap(({ name, once }) => {
    return once ? [`${name}: ${describeOnce(once)}${operations.key ? ', encrypted' : ''}`] : []
  })
}

function describeOnce(once: OnceRule): string {
  const unknown = once.repeatUnknown === 'send' ? 'sent again' : 'held'
  const late = once.expired === 'send' ? 'sent' : 'refused'
  const redacted = once.redact.length === 0 ? '' : ` less ${once.redact.join(' ')}`
  return (
    `scope ${once.scope}, unknown ones are ${unknown}, bodies up to ${formatSize(once.maxBodyBytes)}; ` +
    `provider keys (${once.providerKey}) live ${formatAge(once.keyLifetimeMs)}, later repeats are ${late}; ` +
    `kept ${formatAge(once.retentionMs)}, with answers up to ${formatSize(once.keepBodyBytes)}${redacted}`
  )
}

function scope({ match: { methods, path } }: Route): string {
  if (!methods && !path) return 'every other request'
  return `${methods ? methods.join(', ') : 'every method'} on ${path ?? 'every path'}`
}

function treatment(route: Route, claim: ClaimConfig): string {
  if (route.guard === 'none') return 'not fenced, needs no token'
  // Naming a method fences it; where none is named, what only reads passes.
  const reads = route.match.methods ? '' : ' (GET, HEAD and OPTIONS need no token)'
  const task = route.match.path?.includes('{task}')
    ? 'the task is in the path'
    : `the task is in ${claim.taskHeader}`
  const how =
    route.mode === 'observe'
      ? `not fenced, only observed${reads}: what would be refused is forwarded and counted`
      : `fenced${route.once ? ', each operation once' : ''}${reads}`
  const operation = route.once ? `, the operation's key in ${claim.operationHeader}` : ''
  const alone = route.token === 'optional' ? '; without a token a write passes by that key alone' : ''
  return `${how}; ${task}, the token in ${claim.tokenHeader}${operation}${alone}`
}

function upgrades({ upgrades }: Route): string {
  return upgrades.length === 0 ? '' : `; may upgrade to ${upgrades.join(', ')}`
}
