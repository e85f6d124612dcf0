/** The commands that act on a running sidecar, where none runs or what answers is no sidecar. */
import fs from 'node:fs'
import type http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { answering } from '../support/answering-socket.ts'
import { captureOutput } from '../support/captured-output.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const output = captureOutput()

const COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['freeze', 'K', '--reason', 'why'],
  ['thaw', 'K', '--token', '9', '--reason', 'why'],
  ['raise', 'K', '--token', '9', '--reason', 'why'],
  ['unknown'],
  ['resolve', 'id', '--as', 'applied', '--reason', 'why'],
  ['erase', 'K', '--reason', 'why'],
  ['journal', '--task', 'K', '--token', '9'],
  ['operations', '--task', 'a&b', '--state', 'open'],
  ['reconcile', '--task', 'K'],
]

const MORE: typeof COMMANDS = [
  ['status'],
  ['tasks'],
  ['task', 'K'],
  ['top', '--once'],
  ['fence', 'K', '--reason', 'why'],
  ['journal', '--follow'],
  ['config'],
  ['store'],
  ['backup', 'b.db', '--reason', 'why'],
  ['retire', '--prefix', 'p', '--idle', '1d', '--floor', '9', '--reason', 'why'],
  ['reset', 'K', '--to', '9', '--reason', 'why'],
]

test.each([...COMMANDS, ...MORE])('%s without a sidecar: 69, and what to do', async (...command) => {
  const data = temporaryDirectory()
  expect(await run([...command, '--data', data])).toBe(69)
  expect(output.stdout).toBe('')
  expect(output.stderr).toBe(
    `fencegate: no sidecar answers at ${path.join(data, 'control.sock')} (ENOENT). Name the running one's ` +
      'data directory with --data or --config, and run this as its user.\n',
  )
})

test('each command asks what it says', async () => {
  const { data, asked } = await answering((req, res) => {
    res.end(JSON.stringify(req.method === 'GET' ? { unknown: [] } : { open: [], task: 'K' }))
  })
  for (const command of COMMANDS) {
    const by = command.includes('--reason') ? ['--by', 'ana'] : []
    expect(await run([...command, ...by, '--data', data])).toBe(0)
  }
  expect(asked).toEqual([
    'POST /v1/tasks/K/freeze {"by":"ana","reason":"why"}',
    'POST /v1/tasks/K/thaw {"by":"ana","reason":"why","token":"9"}',
    'POST /v1/tasks/K/raise {"by":"ana","reason":"why","token":"9"}',
    'GET /v1/unknown?limit=100',
    'POST /v1/unknown/id/resolve {"by":"ana","reason":"why","resolution":"applied"}',
    'POST /v1/tasks/K/erase {"by":"ana","reason":"why"}',
    'GET /v1/journal?limit=500&task=K&token=9&after=0',
    'GET /v1/operations?limit=500&task=a%26b&state=open&after=0',
    'GET /v1/operations?limit=500&task=K&after=0',
    'GET /v1/attempts?limit=500&task=K&after=0',
  ])
  expect(output.stderr).toBe(
    'The journal has no such entry.\nNo such operation is on record.\n0 operations.\n',
  )
})

test.each<[string, http.RequestListener, number, string]>([
  ['says that it makes no sense', (_, res) => res.writeHead(409).end('{"error":"no"}'), 64, 'no'],
  ['can’t serve', (_, res) => res.writeHead(503).end('{"error":"the store"}'), 69, 'the store'],
  ['ends before it answers', (req) => req.socket.destroy(), 69, 'ECONNRESET'],
  [
    'ends within its answer',
    (req, res) => {
      res.writeHead(200, { 'Content-Length': 100 }).write('{', () => req.socket.destroy())
    },
    69,
    'ECONNRESET',
  ],
  ['is none', (_, res) => res.end('<html>'), 69, 'is no answer of a sidecar'],
])('a sidecar that %s', async (_, listener, code, message) => {
  const { data } = await answering(listener)
  expect(await run(['freeze', 'K', '--reason', 'why', '--data', data])).toBe(code)
  expect(output.stdout).toBe('')
  expect(output.stderr).toContain(message)
  expect(output.stderr).not.toContain('    at ')
})

test('a sidecar that is stopped or stuck', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { data } = await answering(() => vi.advanceTimersByTime(30_000))
  expect(await run(['freeze', 'K', '--reason', 'why', '--data', data])).toBe(69)
  expect(output.stderr).toContain('has not answered for 30 s: whether it did as asked is unknown')
})

test.each([
  ['no task', ['freeze', '--reason', 'why'], "missing required argument 'task'"],
  ['no reason', ['freeze', 'K'], "required option '--reason <text>'"],
  ['no token', ['raise', 'K', '--reason', 'why'], "required option '--token <token>'"],
  ['no resolution', ['resolve', 'id', '--reason', 'why'], "required option '--as <resolution>'"],
  [
    'another resolution',
    ['resolve', 'id', '--as', 'lost', '--reason', 'why'],
    'Allowed choices are applied, not-applied, compensated',
  ],
])('bad usage ends with 64 and a message: %s', async (_, args, message) => {
  expect(await run(args)).toBe(64)
  expect(output.stdout).toBe('')
  expect(output.stderr).toContain(message)
})

test.each(COMMANDS.map(([name]) => name))('%s --help gives examples', async (name) => {
  expect(await run([name, '--help'])).toBe(0)
  expect(output.stdout).toMatch(/Examples:\n {2}fencegate /)
})

test('a user without a name, as in many containers, can run every command', async () => {
  vi.spyOn(os, 'userInfo').mockImplementation(() => {
    throw new Error('A system error occurred: uv_os_get_passwd returned ENOENT')
  })
  const { data, asked } = await answering((_, res) => res.end('{"open":[]}'))
  expect(await run(['freeze', 'K', '--reason', 'why', '--data', data])).toBe(0)
  expect(asked).toEqual([`POST /v1/tasks/K/freeze {"by":"uid ${process.getuid?.()}","reason":"why"}`])
  expect(await run(['check-config', '--upstream', 'http://127.0.0.1:9200'])).toBe(0)
})

test('a data directory too deep for the socket is a fault of the configuration', async () => {
  const data = path.join(temporaryDirectory(), 'd'.repeat(100))
  expect(await run(['init', '--data', data])).toBe(64)
  expect(output.stderr).toContain('store.path (flag --data)')
  expect(fs.existsSync(data)).toBe(false)
})
