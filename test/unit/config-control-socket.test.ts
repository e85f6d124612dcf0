/** A data directory must leave room for the path of its control socket. */
import { expect, test } from 'vitest'
import { loadConfig, loadStoreConfig } from '../../src/config/load.ts'

const load = (data: string) => loadStoreConfig({ env: {}, flags: { data } })
const longest = '/'.padEnd(107 - '/control.sock'.length, 'd')

test('the socket is in the data directory', () => {
  expect(load('/var/lib/fencegate').controlSocket).toBe('/var/lib/fencegate/control.sock')
})

test.runIf(process.platform === 'linux').each([`${longest}d`, `${longest.slice(0, -1)}\u00e9`])(
  'a path that is a byte too long, as bytes are counted: %s',
  (longer) => {
    expect(load(longest).controlSocket).toHaveLength(107)
    expect(() => load(longer)).toThrow(
      `store.path (flag --data): ${longer} is too long a path by 1 byte: control.sock in it, by which ` +
        'operators reach the sidecar, may have 107 with its directory. Name a shorter one',
    )
  },
)

test('it is told with all other faults', () => {
  const flags = { data: `/${'d'.repeat(200)}`, upstream: 'nowhere', listen: 'x' }
  expect(() => loadConfig({ env: {}, flags })).toThrow('the configuration has 3 faults:')
})
