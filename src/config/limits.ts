/** Reads the `limits` section: what a client may take of the data port. */
import type { Limits } from './config.ts'
import type { Faults } from './faults.ts'
import type { ConfigFile } from './schema.ts'
import { parseDuration, parseSize } from './values.ts'

const KIB = 1024
const MIB = 1024 ** 2
const GIB = 1024 ** 3

/** What a faulty value is read on with; a configuration with faults is never seen. */
const UNREADABLE = 1

export function resolveLimits(limits: ConfigFile['limits'], faults: Faults): Limits {
  const size = (key: 'headSize' | 'bodySize' | 'bodyRate', text: string, minimum: number, maximum: number) =>
    faults.read(`limits.${key}`, UNREADABLE, () => parseSize(text, minimum, maximum))
  const duration = (key: 'headTimeout' | 'idleTimeout') =>
    faults.read(`limits.${key}`, UNREADABLE, () => parseDuration(limits[key]))
  return {
    headSizeBytes: size('headSize', limits.headSize, KIB / 2, MIB),
    headerCount: limits.headerCount,
    headTimeoutMs: duration('headTimeout'),
    idleTimeoutMs: duration('idleTimeout'),
    bodySizeBytes:
      limits.bodySize === undefined ? undefined : size('bodySize', limits.bodySize, 1, 1024 * GIB),
    bodyRateBytesPerSecond: size('bodyRate', limits.bodyRate, 1, GIB),
    connections: limits.connections,
    openWrites: limits.openWrites,
    openWritesPerTask: limits.openWritesPerTask,
    waitersPerTask: limits.waitersPerTask,
  }
}
