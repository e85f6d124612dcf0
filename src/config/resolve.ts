/** Reads a checked tree into the {@link Config} in force: units, paths, inheritance, and what must agree. */
import path from 'node:path'
import { MAX_TOKEN } from '../token.ts'
import { collide, formatAddress, leadsTo, parseAddress } from './addresses.ts'
import type { ClaimConfig, Config } from './config.ts'
import { controlSocketIn } from './control-socket.ts'
import { type Faults, shown } from './faults.ts'
import { parseClaimHeader, twinOf } from './header-fields.ts'
import { resolveRoutes } from './routes.ts'
import type { ConfigFile } from './schema.ts'
import { NO_UPSTREAM, resolveUpstream } from './upstream.ts'
import { formatDuration, parseDuration, parseFilePath, parseSize, parseTokenValue } from './values.ts'

export interface Origins {
  /** What paths in the file are relative to: its directory. */
  readonly directory: string
  /** What `store.path` is relative to: it may come from a flag. */
  readonly dataDirectory: string
  /** Whether a missing `upstream.url` is a fault. */
  readonly upstreamRequired: boolean
}

/** What a faulty value is read on with; a configuration with faults is never seen. */
const UNREADABLE = { ms: 1, bytes: 1, token: MAX_TOKEN, address: { host: '', port: 0 } } as const

export function resolve(tree: ConfigFile, origins: Origins, faults: Faults): Config {
  const duration = (keyPath: string, text: string, zero?: 'zero') =>
    faults.read(keyPath, UNREADABLE.ms, () => parseDuration(text, zero))
  const address = (keyPath: string, text: string) =>
    faults.read(keyPath, UNREADABLE.address, () => parseAddress(text))

  const { store, limits, shutdown } = tree
  const storePlace = () => {
    const written = faults.read('store.path', '', () => parseFilePath(store.path))
    const directory = path.resolve(origins.dataDirectory, written)
    return {
      path: directory,
      controlSocket: faults.read('store.path', '', () => controlSocketIn(directory)),
    }
  }
  const upstream = resolveUpstream(tree.upstream, 'upstream', NO_UPSTREAM, origins.directory, faults)
  if (tree.upstream.url === undefined && origins.upstreamRequired) {
    faults.add('upstream.url', 'is missing: name the resource, such as --upstream http://127.0.0.1:9200')
  }
  const config: Config = {
    listen: address('listen', tree.listen),
    admin: { listen: address('admin.listen', tree.admin.listen) },
    upstream,
    store: {
      ...storePlace(),
      create: store.create,
      lockWaitMs: duration('store.lockWait', store.lockWait),
      timeoutMs: duration('store.timeout', store.timeout),
      cachedTasks: store.cachedTasks,
    },
    claim: resolveClaim(tree.claim, faults),
    handoverTimeoutMs: duration('handoverTimeout', tree.handoverTimeout),
    drainLimitMs: duration('drainLimit', tree.drainLimit),
    restartGraceMs: duration('restartGrace', tree.restartGrace, 'zero'),
    revealHighest: tree.revealHighest,
    limits: {
      headSizeBytes: faults.read('limits.headSize', UNREADABLE.bytes, () =>
        parseSize(limits.headSize, 512, 1024 * 1024),
      ),
      headTimeoutMs: duration('limits.headTimeout', limits.headTimeout),
      idleTimeoutMs: duration('limits.idleTimeout', limits.idleTimeout),
    },
    shutdown: {
      delayMs: duration('shutdown.delay', shutdown.delay, 'zero'),
      deadlineMs: duration('shutdown.deadline', shutdown.deadline),
    },
    records: { hideQueryValues: tree.records.hideQueryValues },
    log: { level: tree.log.level },
    routes: resolveRoutes(tree.routes, faults, (own, keyPath) =>
      own === undefined ? upstream : resolveUpstream(own, keyPath, upstream, origins.directory, faults),
    ),
  }
  checkAddresses(config, faults)
  return config
}

function resolveClaim(claim: ConfigFile['claim'], faults: Faults): ClaimConfig {
  const names = (['taskHeader', 'tokenHeader', 'holderHeader', 'operationHeader'] as const).map((key) => ({
    keyPath: `claim.${key}`,
    name: faults.read(`claim.${key}`, key, () => parseClaimHeader(claim[key])),
  }))
  for (const [index, { keyPath, name }] of names.entries()) {
    const twin = names.slice(0, index).find((earlier) => twinOf(earlier.name) === twinOf(name))
    if (twin) faults.add(keyPath, `${shown(name)} can't be told from ${twin.keyPath}: name another field`)
  }
  const [taskHeader, tokenHeader, holderHeader, operationHeader] = names.map(({ name }) => name) as [
    string,
    string,
    string,
    string,
  ]
  const token = (key: 'maxToken' | 'maxTokenJump', text: string) =>
    faults.read(`claim.${key}`, UNREADABLE.token, () => parseTokenValue(text))
  return {
    taskHeader,
    tokenHeader,
    holderHeader,
    operationHeader,
    maxToken: token('maxToken', claim.maxToken),
    maxTokenJump: claim.maxTokenJump === undefined ? undefined : token('maxTokenJump', claim.maxTokenJump),
  }
}

function checkAddresses({ listen, admin, upstream, routes }: Config, faults: Faults): void {
  if (collide(listen, admin.listen)) {
    faults.add(
      'admin.listen',
      `${formatAddress(admin.listen)} is the data port's as well: give each its own port`,
    )
  }
  const origins = new Map([['upstream.url', upstream.origin]])
  for (const [index, route] of routes.entries()) {
    if (route.upstream !== upstream) origins.set(`routes[${index}].upstream.url`, route.upstream.origin)
  }
  for (const [keyPath, origin] of origins) {
    if (leadsTo(origin, listen)) {
      faults.add(keyPath, `${origin} is fencegate's own data port: name the resource`)
    } else if (leadsTo(origin, admin.listen)) {
      faults.add(keyPath, `${origin} is fencegate's own admin port: name the resource`)
    }
  }
}

/** What is valid but probably not meant. */
export function warningsOf({ routes, upstream, restartGraceMs }: Config): string[] {
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
