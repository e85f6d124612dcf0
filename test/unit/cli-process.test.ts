/** The command line as a shell sees it: real processes, their output and exit codes. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test, vi } from 'vitest'
import { version } from '../../src/version.ts'

const COMMANDER = pathToFileURL(createRequire(import.meta.url).resolve('commander'))
const ROOT = path.join(import.meta.dirname, '../..')
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-cli-'))
afterAll(() => fs.rmSync(directory, { recursive: true }))
vi.setConfig({ testTimeout: 60_000 })

function fencegate(args: readonly string[], nodeOptions: readonly string[] = []) {
  const main = path.join(ROOT, 'src/main.ts')
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeOptions, main, ...args], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
    timeout: 50_000,
  })
  return { status, stdout, stderr }
}

test('check-config shows on one screen what is in force, and ends with 0', () => {
  const example = path.join(ROOT, 'config/fencegate.example.yaml')
  const { status, stdout, stderr } = fencegate(['check-config', '--config', example])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('settlements: POST, PUT, PATCH, DELETE on /settlements/{task}/*')
  expect(stdout).toContain('search: POST on /orders/_search to http://127.0.0.1:9200: not fenced')
  expect(stdout).toContain('default: every other request')
  expect(stdout.split('\n').length).toBeLessThan(24)
})

test.each(['check-config', 'serve'])('%s lists every fault and ends with 64', (command) => {
  const file = path.join(directory, `${command}.yaml`)
  fs.writeFileSync(file, 'listen: x\nlog: { level: y }')
  const { status, stdout, stderr } = fencegate([command, '--config', file])
  expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
  expect(stderr).toMatch(/^fencegate: the configuration \(.*\) has 3 faults:\n/)
  for (const key of ['listen: ', 'log.level: ', 'upstream.url: ']) expect(stderr).toContain(`\n  ${key}`)
  expect(stderr).not.toContain('    at ')
})

test('an unknown option ends with 64', () => {
  expect(fencegate(['serve', '--nope'])).toMatchObject({ status: 64, stdout: '' })
})

test('--version is the package’s', () => {
  expect(fencegate(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
})

test.each([
  ['thrown by a command', "Command.prototype.parseAsync = () => { throw new Error('bug') }"],
  [
    'thrown beside it',
    "Command.prototype.parseAsync = () => { setImmediate(() => { throw new Error('bug') }); return new Promise(() => setTimeout(() => {}, 60_000)) }",
  ],
])('what only a new version can mend shows its stack and ends with 70: %s', (_, code) => {
  const preload = `data:text/javascript,${encodeURIComponent(
    `import { Command } from '${COMMANDER}'\n${code}`,
  )}`
  const { status, stderr } = fencegate(['check-config'], ['--import', preload])
  expect(stderr).toMatch(/unexpected error\nError: bug\n {4}at /)
  expect(status).toBe(70)
})
