/** The command line within this process: usage, help, exit codes. `cli-process.test.ts` has the real processes. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { captureOutput } from '../support/captured-output.ts'

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-cli-'))
afterAll(() => fs.rmSync(directory, { recursive: true }))

const output = captureOutput()
afterEach(() => {
  vi.unstubAllEnvs()
})

function file(yaml: string): string {
  const full = path.join(directory, 'fencegate.yaml')
  fs.writeFileSync(full, yaml)
  return full
}

test('check-config takes what serve takes, and prints warnings', async () => {
  vi.stubEnv('FENCEGATE_UPSTREAM', 'http://10.0.0.1:80')
  vi.stubEnv('FENCEGATE_CONFIG', file('restartGrace: 1s\nclaim: { maxTokenJump: 9007199254740993 }'))
  expect(await run(['check-config', '--listen', '127.0.0.1:99'])).toBe(0)
  expect(output.stdout).toContain('127.0.0.1:99 for data, 127.0.0.1:8471 for admin')
  expect(output.stdout).toContain('http://10.0.0.1')
  expect(output.stdout).toContain('jumps of at most 9007199254740993')
  expect(output.stderr).toMatch(
    /^warning: restartGrace \(1s\) is shorter than upstream.headersTimeout \(30s\)/,
  )
})

test('check-config shows TLS, clients and where a credential goes, but no secret', async () => {
  const tls = path.join(import.meta.dirname, '../support/tls')
  fs.writeFileSync(path.join(directory, 'credential'), 'Bearer s3cr3t')
  const config = file(`
    tls: { cert: ${tls}/server-1.pem, key: ${tls}/server-1-key.pem, clientCa: ${tls}/clients-ca.pem }
    clients: [{ san: "spiffe://a/b", tasks: [pay-] }, { san: 10.0.0.1, tasks: [""] }]
    upstream:
      url: https://a
      auth: { file: credential }
      tls: { cert: ${tls}/client-dns.pem, key: ${tls}/client-dns-key.pem, serverName: b }
    limits: { bodySize: 2GiB }
    reloadInterval: 0s
    routes: [{ name: ws, match: { path: /ws }, upgrades: [websocket] }]`)
  expect(await run(['check-config', '--config', config])).toBe(0)
  for (const line of [
    'certificate "CN=server-1" until 2120-01-01; client certificates required',
    'clients   spiffe://a/b (URI) may write pay-*\n          10.0.0.1 (IP Address) may write every task\n',
    'sets authorization to its credential, is b in TLS, is shown the certificate "CN=client-dns" until 2120',
    'bodies of at most 2GiB',
    'reload    on SIGHUP alone\n',
    'may upgrade to websocket\n',
  ]) {
    expect(output.stdout).toContain(line)
  }
  expect(output.stdout + output.stderr).not.toMatch(/s3cr3t|PRIVATE KEY/)
})

test.each([
  ['no command', [], 'Usage: fencegate'],
  ['an unknown command', ['serv'], 'Did you mean serve?'],
  ['an unknown option', ['serve', '--upstrem', 'http://a'], 'Did you mean --upstream?'],
  ['a missing argument', ['check-config', '--config'], 'argument missing'],
  ['an argument too many', ['check-config', 'fencegate.yaml'], 'too many arguments'],
  ['a floor that is none', ['init', '--floor', '1e3'], '--floor: "1e3" is not a floor'],
  ['a negative floor', ['init', '--floor', '-1'], '--floor: "-1" is not a floor'],
  ['nothing to serve', ['serve'], 'upstream.url: is missing'],
])('bad usage ends with 64 and a message: %s', async (_, args, message) => {
  expect(await run(args)).toBe(64)
  expect(output.stdout).toBe('')
  expect(output.stderr).toContain(message)
  expect(output.stderr).not.toContain('    at ')
})

test.each([
  [['--help']],
  [['serve', '--help']],
  [['init', '--help']],
  [['check-config', '--help']],
  [['demo', '--help']],
])('%j gives examples', async (args) => {
  expect(await run(args)).toBe(0)
  expect(output.stdout).toMatch(/Examples:\n {2}(FENCEGATE_\S+ )?fencegate /)
  expect(output.stderr).toBe('')
})

test('init makes a store with its floor, exactly, and never replaces one', async () => {
  const data = path.join(directory, 'marks')
  expect(await run(['init', '--data', data, '--floor', '9007199254740993'])).toBe(0)
  expect(output.stdout).toContain(`Made a store in ${data}. Every task starts at 9007199254740993`)
  expect(floorOf(data)).toBe(9007199254740993n)
  expect(await run(['init', '--data', data])).toBe(69)
  expect(output.stderr).toContain('already holds a store')
  expect(floorOf(data)).toBe(9007199254740993n)
})

function floorOf(data: string): unknown {
  const db = new DatabaseSync(path.join(data, 'marks.db'), { readOnly: true })
  const statement = db.prepare('SELECT floor FROM meta')
  statement.setReadBigInts(true)
  const row = statement.get()
  db.close()
  return row?.floor
}

test('init takes the directory from the configuration, without an upstream', async () => {
  expect(await run(['init', '--config', file('store: { path: from-file }')])).toBe(0)
  expect(output.stdout).toContain(`Made a store in ${path.join(directory, 'from-file')}. No task has a mark`)
})
