/** Reads a checked tree into the {@link Config} in force: units, paths, inheritance, and what must agree. */
import path from 'node:path'
import { collide, formatAddress, leadsTo, parseAddress } from './addresses.ts'
import { resolveAdmin } from './admin.ts'
import { claimHeadersOf, resolveClaim } from './claim.ts'
import { resolveClients } from './clients.ts'
import type { Config } from './config.ts'
import { controlSocketIn } from './control-socket.ts'
import { resolveTls } from './data-port-tls.ts'
import type { Faults } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import { resolveLimits } from './limits.ts'
import { resolveOperationsKey } from './operations-key.ts'
import { resolveRoutes } from './routes.ts'
import type { ConfigFile } from './schema.ts'
import { NO_UPSTREAM, UpstreamReader } from './upstream.ts'
import { parseAge, parseDuration, parseFilePath } from './values.ts'

export interface Origins {
  /** What the file names, relative to its directory. */
  readonly files: ConfigFiles
  /** What `store.path` is relative to: it may come from a flag. */
  readonly dataDirectory: string
  /** Whether a missing `upstream.url` is a fault. */
  readonly upstreamRequired: boolean
}

/** What a faulty value is read on with; a configuration with faults is never seen. */
const UNREADABLE = { ms: 1, address: { host: '', port: 0 } } as const

export function resolve(tree: ConfigFile, origins: Origins, faults: Faults): Config {
  const duration = (keyPath: string, text: string, zero?: 'zero') =>
    faults.read(keyPath, UNREADABLE.ms, () => parseDuration(text, zero))
  const address = (keyPath: string, text: string) =>
    faults.read(keyPath, UNREADABLE.address, () => parseAddress(text))

  const { store, shutdown } = tree
  const storePlace = () => {
    const written = faults.read('store.path', '', () => parseFilePath(store.path))
    const directory = path.resolve(origins.dataDirectory, written)
    return {
      path: directory,
      controlSocket: faults.read('store.path', '', () => controlSocketIn(directory)),
    }
  }
  const claim = resolveClaim(tree.claim, faults)
  const upstreams = new UpstreamReader(origins.files, claimHeadersOf(claim), faults)
  const upstream = upstreams.read(tree.upstream, 'upstream', NO_UPSTREAM)
  if (tree.upstream.url === undefined && origins.upstreamRequired) {
    faults.add('upstream.url', 'is missing: name the resource, such as --upstream http://127.0.0.1:9200')
  }
  const config: Config = {
    listen: address('listen', tree.listen),
    admin: resolveAdmin(tree.admin, address('admin.listen', tree.admin.listen), origins.files, faults),
    tls: resolveTls(tree.tls, origins.files, faults),
    clients: resolveClients(tree, faults),
    upstream,
    store: {
      ...storePlace(),
      create: store.create,
      lockWaitMs: duration('store.lockWait', store.lockWait),
      timeoutMs: duration('store.timeout', store.timeout),
      cachedTasks: store.cachedTasks,
    },
    claim,
    handoverTimeoutMs: duration('handoverTimeout', tree.handoverTimeout),
    drainLimitMs: duration('drainLimit', tree.drainLimit),
    restartGraceMs: duration('restartGrace', tree.restartGrace, 'zero'),
    revealHighest: tree.revealHighest,
    limits: resolveLimits(tree.limits, faults),
    shutdown: {
      delayMs: duration('shutdown.delay', shutdown.delay, 'zero'),
      deadlineMs: duration('shutdown.deadline', shutdown.deadline),
    },
    operations: { key: resolveOperationsKey(tree.operations, origins.files, faults) },
    journal: {
      maxAgeMs: faults.read('journal.maxAge', UNREADABLE.ms, () => parseAge(tree.journal.maxAge)),
      maxRows: tree.journal.maxRows,
    },
    records: { hideQueryValues: tree.records.hideQueryValues },
    log: { level: tree.log.level },
    reloadIntervalMs: duration('reloadInterval', tree.reloadInterval, 'zero'),
    routes: resolveRoutes(tree.routes, faults, (own, keyPath) =>
      own === undefined ? upstream : upstreams.read(own, keyPath, upstream),
    ),
  }
  checkAddresses(config, faults)
  return config
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
