/** `limits` and `reloadInterval`: their ranges, and what they become. */
import { expect, test } from 'vitest'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()

test('limits in the units of the file', () => {
  const { config } = directory.load(`
reloadInterval: 1m
limits:
  headSize: 512B
  headerCount: 16
  bodySize: 1024GiB
  bodyRate: 64KiB
  connections: 100000
  openWrites: 100000
  openWritesPerTask: 1
  waitersPerTask: 1`)
  expect(config.limits).toEqual({
    headSizeBytes: 512,
    headerCount: 16,
    headTimeoutMs: 10_000,
    idleTimeoutMs: 75_000,
    bodySizeBytes: 2 ** 40,
    bodyRateBytesPerSecond: 65_536,
    connections: 100_000,
    openWrites: 100_000,
    openWritesPerTask: 1,
    waitersPerTask: 1,
  })
  expect(config.reloadIntervalMs).toBe(60_000)
  expect(directory.load('reloadInterval: 0s').config.reloadIntervalMs).toBe(0)
})

test.each([
  ['headerCount: 15', 'headerCount: 15 does not fit', 'a whole number from 16 to 10000'],
  ['headerCount: 10001', 'headerCount: 10001 does not fit', ''],
  ['bodySize: 0B', 'bodySize: 0B is out of range', 'write 1B to 1024GiB'],
  ['bodySize: 1025GiB', 'bodySize: 1025GiB is out of range', ''],
  ['bodySize: 999999999GiB', 'bodySize: 999999999GiB is out of range', ''],
  ['bodySize: 1TiB', 'bodySize: "1TiB" is not a size', 'B, KiB, MiB or GiB'],
  ['bodySize: 1000', 'bodySize: 1000 does not fit', 'a size such as'],
  ['bodyRate: 0B', 'bodyRate: 0B is out of range', 'write 1B to 1GiB'],
  ['bodyRate: 2GiB', 'bodyRate: 2GiB is out of range', ''],
  ['connections: 0', 'connections: 0 does not fit', 'from 1 to 100000'],
  ['openWrites: 100001', 'openWrites: 100001 does not fit', 'from 1 to 100000'],
  ['openWritesPerTask: 1.5', 'openWritesPerTask: 1.5 does not fit', 'from 1 to 100000'],
  ['waitersPerTask: many', 'waitersPerTask: "many" does not fit', 'from 1 to 100000'],
])('%s', (key, start, part) => directory.expectFault(`limits: { ${key} }`, `limits.${start}`, part))

test.each([
  ['reloadInterval: 5', 'reloadInterval: 5 does not fit', 'a duration such as'],
  ['reloadInterval: 25h', 'reloadInterval: 25h is too long', ''],
])('%s', (yaml, start, part) => directory.expectFault(yaml, start, part))
