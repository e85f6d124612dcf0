/** `fencegate restore`: what it asks for, what it says, and with which code it ends. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { initStore, openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { captureOutput } from '../support/captured-output.ts'
import { markChange } from '../support/store-changes.ts'

const scene = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-cli-'))
afterAll(() => fs.rmSync(scene, { recursive: true }))

const output = captureOutput()
const place = (name: string) => path.join(scene, name)

const open = (directory: string) => {
  return new StoreTables(openStore({ directory, create: 'never', lockWaitMs: 0, intentsComplete: false }))
}

initStore(place('old'), 0n, 0)
const old = open(place('old'))
old.commit([markChange('k', 9007199254740993n, true)])
old.close(true)
const backup = place('backup.db')
fs.renameSync(path.join(place('old'), 'marks.db'), backup)

const why = ['--reason', 'the volume was lost', '--by', 'ana']

test('a backup becomes a store again, and the act is on record', async () => {
  const data = place('restored')
  const given = path.relative(process.cwd(), backup)
  expect(await run(['restore', given, '--data', data, '--floor', '9007199254740995', ...why])).toBe(0)
  expect(output.stdout).toContain(`Restored ${backup} into ${data}: 1 task, 0 unresolved outcomes.`)
  expect(output.stdout).toContain('starts at 9007199254740995 or above')
  const tables = open(data)
  expect(tables.load('k').mark.token).toBe(9007199254740995n)
  const act = {
    act: 'restore',
    by: 'ana',
    reason: 'the volume was lost',
    file: backup,
    floor: '9007199254740995',
  }
  expect(tables.journal({ limit: 9, after: 0 }).rows.map(({ data }) => data)).toEqual([act])
  tables.close(true)
  expect(await run(['restore', backup, '--data', data, '--floor', '9007199254740995', ...why])).toBe(69)
  expect(output.stderr).toContain('already holds a store')
})

test('it answers in JSON too, and says who ran it if nobody is named', async () => {
  const data = place('json')
  const floor = '9007199254740993'
  const args = ['--data', data, '--floor', floor, '--reason', 'why', '--json']
  expect(await run(['restore', backup, ...args])).toBe(0)
  const answer = { file: backup, directory: data, floor, tasks: 1, unresolved: 0 }
  expect(JSON.parse(output.stdout)).toEqual(answer)
  const tables = open(data)
  expect(tables.journal({ limit: 9, after: 0 }).rows[0]?.data).toMatchObject({
    by: expect.stringMatching(/./),
  })
  tables.close(true)
})

test.each([
  ['no floor', why, /required option '--floor <token>'/],
  ['a floor of 0', ['--floor', '0', ...why], /--floor: "0" is not a token/],
  ['a floor that is none', ['--floor', '1e3', ...why], /--floor: "1e3" is not a token/],
  ['a floor below a mark', ['--floor', '9007199254740992', ...why], /below a mark.*k has 9007199254740993/],
  ['no reason', ['--floor', '9007199254740993'], /required option '--reason <text>'/],
])('%s is bad usage, and nothing is made', async (_, args, message) => {
  expect(await run(['restore', backup, '--data', place('unmade'), ...args])).toBe(64)
  expect(output.stderr).toMatch(message)
  expect(fs.existsSync(path.join(place('unmade'), 'marks.db'))).toBe(false)
})

test.each([
  ['that isn’t there', place('nothing.db'), /nothing.db can't be restored: ENOENT/],
  ['that is a directory', scene, /it is not a file/],
  ['of something else', import.meta.filename, /it is not a fencegate store/],
])('a file %s ends with 69', async (_, file, message) => {
  expect(await run(['restore', file, '--data', place('unmade'), '--floor', '9', ...why])).toBe(69)
  expect(output.stderr).toMatch(message)
  expect(fs.existsSync(path.join(place('unmade'), 'marks.db'))).toBe(false)
})
