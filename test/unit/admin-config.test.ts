/** The admin port's settings: the file of tokens, what is said of it, and that nothing of a token is ever shown. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { describeAdmin } from '../../src/config/describe.ts'
import { reloaded } from '../../src/config/reload.ts'
import { ConfigDirectory } from '../support/config-file.ts'

const directory = new ConfigDirectory()
const [ANA, BEN] = ['a'.repeat(20), `~!${'b'.repeat(510)}`]
const SETTING = 'admin: { tokenFile: ./tokens }\n'

function write(text: string, mode = 0o600): void {
  directory.write('tokens', text)
  fs.chmodSync(path.join(directory.path, 'tokens'), mode)
}

const load = (text: string, setting = SETTING) => {
  write(text)
  return directory.load(setting).config
}

test('the file holds names and tokens, comments and empty lines', () => {
  const { tokens } = load(`# who\n\nana ${ANA}\r\n  # more\nben.2_x-\t ${BEN} \n`).admin
  const sha256 = (text: string) => createHash('sha256').update(text).digest()
  expect(tokens?.named).toEqual([
    { name: 'ana', digest: sha256(ANA) },
    { name: 'ben.2_x-', digest: sha256(BEN) },
  ])
})

test.each([
  ['no token', `# nobody\n`, 'holds no token'],
  ['an empty file', '', 'holds no token'],
  ['a name alone', 'ana\n', 'line 1 is not a name'],
  ['a short token', `ana ${ANA.slice(1)}\n`, 'line 1 is not a name'],
  ['a long token', `ana ${BEN}b\n`, 'line 1 is not a name'],
  ['a long name', `${'n'.repeat(65)} ${ANA}\n`, 'line 1 is not a name'],
  ['a token that is not ASCII', `ana ${ANA}\u00e9\n`, 'line 1 is not a name'],
  ['three words', `ana ${ANA} ${ANA}\n`, 'line 1 is not a name'],
  ['a name twice', `ana ${ANA}\nana ${BEN}\n`, 'line 2 names ana again'],
  ['a token twice', `ana ${ANA}\nben ${ANA}\n`, 'line 2, ben, holds the token of another name'],
])('%s is a fault that shows no token', (_, text, part) => {
  write(text)
  directory.expectFault(SETTING, 'admin.tokenFile: "./tokens"', part)
  expect(directory.faultsOf(SETTING).join()).not.toMatch(/aaa|bbb/)
})

test('all lines with faults are told at once, and with those of other keys', () => {
  write(`ana\nben ${BEN}\nben ${ANA}\n`)
  const faults = directory.faultsOf(`${SETTING}journal: { maxRows: 0 }\n`)
  expect(faults).toHaveLength(2)
  expect(faults.find((line) => line.startsWith('admin'))).toMatch(/line 1 is not.*; line 3 names ben again/)
})

test('a token in the place of its file is not repeated', () => {
  directory.expectFault(`admin: { tokenFile: ${BEN} }\n`, 'admin.tokenFile: cannot be read', 'not here')
  expect(directory.faultsOf(`admin: { tokenFile: ${BEN} }\n`).join()).not.toContain('bbb')
})

test('a reload takes other tokens, the first and none, but no other address', () => {
  const none = directory.load('').config
  const one = load(`ana ${ANA}\n`)
  const two = load(`ana ${ANA}\nben ${BEN}\n`)
  expect([reloaded(none, one), reloaded(one, two), reloaded(two, none)]).toEqual([[], [], []])
  const moved = load(`ana ${ANA}\n`, 'admin: { listen: "127.0.0.1:1", tokenFile: ./tokens }\n')
  expect(reloaded(one, moved)).toEqual(['admin.listen'])
})

const OTHER_HOSTS = 'admin: { listen: "0.0.0.0:8471", tokenFile: ./tokens }\n'

test.each([
  ['loopback without tokens', '', 0o600, []],
  ['loopback with tokens', SETTING, 0o640, []],
  ['a file that everybody may read', SETTING, 0o644, ['chmod o-r']],
  ['other hosts with tokens', OTHER_HOSTS, 0o600, ['bearer tokens cross the network in the clear']],
  ['both', OTHER_HOSTS, 0o604, ['bearer tokens cross', 'chmod o-r']],
  ['other hosts without', 'admin: { listen: "[::]:8471" }\n', 0o600, ['only health and metrics are served']],
  ['an IPv6 loopback', 'admin: { listen: "[::1]:8471" }\n', 0o600, []],
])('warnings: %s', (_, yaml, mode, parts) => {
  write(`ana ${ANA}\n`, mode)
  expect(directory.load(yaml).warnings).toEqual(parts.map((part) => expect.stringContaining(part)))
})

test('check-config names who has a token', () => {
  const config = load(`ana ${ANA}\nben ${BEN}\n`)
  expect(describeAdmin(config)).toBe('2 tokens (ana, ben); reads without a token')
  expect(describeAdmin(directory.load('').config)).toBe('no tokens: reads alone, acts over the socket')
  const others = directory.load('admin: { listen: "10.0.0.1:8471" }\n').config
  expect(describeAdmin(others)).toContain('health and metrics alone')
})
