/** The commands against a running sidecar: over its socket, and at its admin port with a token. */
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { captureOutput } from '../support/captured-output.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { temporaryDirectory } from '../support/sidecar.ts'
import { Changes, until } from '../support/wait.ts'

const directory = temporaryDirectory()
const tokenFile = path.join(directory, 'tokens')
fs.writeFileSync(tokenFile, 'night-shift abcdefghijklmnopqrstuvwxyz\n', { mode: 0o600 })
const wrongFile = path.join(directory, 'wrong')
fs.writeFileSync(wrongFile, 'zyxwvutsrqponmlkjihgfedcba\n')

const { upstream, sidecar, send } = await scene({ admin: { listen: '127.0.0.1:0', tokenFile } })
const output = captureOutput()

const SOCKET = ['--data', sidecar.data]
const SERVER = ['--server', `http://127.0.0.1:${sidecar.adminPort}`]
const WITH_TOKEN = [...SERVER, '--token-file', tokenFile]

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function fencegate(...args: readonly string[]): Promise<Ran> {
  output.stdout = ''
  output.stderr = ''
  const code = await run(args)
  return { code, stdout: output.stdout, stderr: output.stderr }
}

/** What a command that must succeed prints with --json, a document a line. */
async function json(...args: readonly string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await fencegate(...args, '--json')
  expect([code, stderr]).toEqual([0, ''])
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

const write = (task: string, token: number) => send(claim(task, token))

test.each([
  ['socket', SOCKET],
  ['admin port', SERVER],
])(
  'over the %s: status, tasks, one task, store, configuration, journal, unknown, operations, top',
  async (_, where) => {
    const task = where === SOCKET ? 'look-a' : 'look-b'
    expect((await write(task, 9)).status).toBe(200)
    refusal(await write(task, 8), 412, 'stale-token')
    await until(
      async () => (await fencegate('journal', '--task', task, ...where)).stdout !== '',
      'the rejection on record',
    )

    expect(await json('status', ...where)).toMatchObject([{ phase: 'serving', openWrites: 0, frozen: 0 }])
    expect((await fencegate('status', ...where)).stdout).toMatch(/^stale rejections {2}\d+$/m)
    expect(await json('tasks', '--search', task, ...where)).toMatchObject([
      { task, mark: '9', openWrites: 0 },
    ])
    expect((await fencegate('tasks', ...where)).stdout).toContain(`${task}  9`)
    const [page] = await json('task', task, ...where)
    expect(page).toMatchObject({ task, mark: '9', passes: '9', rejections: [{ token: '8' }] })
    expect((await fencegate('task', task, ...where)).stdout).toMatch(/ 8 {6}9 {8}stale-token {2}1 /)
    expect(await json('store', ...where)).toMatchObject([{ created: true, floor: '0' }])
    expect((await fencegate('store', ...where)).stdout).toContain('opened            made by this start')
    expect(await json('config', ...where)).toMatchObject([{ file: sidecar.file, config: {} }])
    const config = (await fencegate('config', ...where)).stdout
    expect(config).toContain('(set)')
    expect(config).not.toContain('abcdefghijklmnopqrstuvwxyz')
    const last = await json('journal', '--last', '1', '--kind', 'rejection', ...where)
    expect(last).toMatchObject([{ task, token: '8', data: { code: 'stale-token', highest: '9' } }])
    expect(await fencegate('unknown', ...where)).toMatchObject({
      code: 0,
      stdout: 'No outcome is unknown.\n',
    })
    expect((await fencegate('operations', ...where)).code).toBe(0)
    expect((await fencegate('reconcile', '--task', task, ...where)).code).toBe(0)
    const [top] = await json('top', '--interval', '200ms', ...where)
    expect(top).toMatchObject({ rates: { stale: 0 }, status: { phase: 'serving' } })
    expect(top?.rejections).toEqual(expect.arrayContaining([expect.objectContaining({ task })]))
  },
)

test('pages: more tasks than a limit, in the order of their names', async () => {
  for (const name of ['p-3', 'p-1', 'p-2']) await write(name, 1)
  const { stdout, stderr } = await fencegate('tasks', '--search', 'p-', '--limit', '2', '--json', ...SOCKET)
  expect(stdout.match(/p-\d/g)).toEqual(['p-1', 'p-2'])
  expect(stderr).toContain('There are more than 2')
  expect((await json('tasks', '--search', 'p-', '--all', ...SOCKET)).map(({ task }) => task)).toEqual([
    'p-1',
    'p-2',
    'p-3',
  ])
})

test('an open write is told by its task, the tasks and top', async () => {
  const held = upstream.hold()
  const answer = write('busy', 4)
  await upstream.received(1)
  expect(await json('tasks', '--state', 'open', ...SOCKET)).toMatchObject([{ task: 'busy', openWrites: 1 }])
  expect((await fencegate('task', 'busy', ...SOCKET)).stdout).toMatch(/^4 {6}\d+ ms {2,}default {2}PUT /m)
  const { stdout } = await fencegate('top', '--once', '--interval', '200ms', ...SOCKET)
  expect(stdout).toMatch(/open writes 1, oldest \d+ ms/)
  expect(stdout).toMatch(/^ {2}busy {2}mark 4 {2}open 1 {2}\d+ ms$/m)
  const frozen = await fencegate('freeze', 'busy', '--reason', 'INC-7', ...SOCKET)
  expect(frozen.stdout).toMatch(/Still open, and not stopped by this:\n {2}token 4 {2}PUT /)
  held.release()
  expect((await answer).status).toBe(200)
})

test('fence: the present token is out, also after the thaw, and a repeat changes nothing', async () => {
  await write('fenced', 9)
  const fence = ['fence', 'fenced', '--reason', 'INC-7', ...WITH_TOKEN]
  expect(await json(...fence)).toMatchObject([{ task: 'fenced', mark: '10', frozen: true, passes: '10' }])
  expect((await fencegate(...fence)).stdout).toBe(
    'fenced is frozen, and token 9 is fenced out: the mark is 10.\n' +
      'Once thawed, 10 is the lowest token that passes.\nNo write is open.\n',
  )
  expect((await fencegate(...fence, '--token', '7')).code).toBe(64)
  expect((await fencegate('thaw', 'fenced', '--reason', 'B has 10', ...WITH_TOKEN)).code).toBe(0)
  refusal(await write('fenced', 9), 412, 'stale-token')
  expect((await write('fenced', 10)).status).toBe(200)
  const acts = await json('journal', '--task', 'fenced', '--kind', 'act', ...SOCKET)
  expect(acts.map(({ data }) => data)).toMatchObject([
    { act: 'fence', by: 'night-shift', reason: 'INC-7' },
    { act: 'fence', by: 'night-shift', reason: 'INC-7' },
    { act: 'thaw', by: 'night-shift', reason: 'B has 10' },
  ])
})

test('raise and erase at the admin port', async () => {
  expect(await json('raise', 'raised', '--token', '12', '--reason', 'x', ...WITH_TOKEN)).toMatchObject([
    { mark: '12' },
  ])
  refusal(await write('raised', 11), 412, 'stale-token')
  const erased = await fencegate('erase', 'raised', '--reason', 'x', ...WITH_TOKEN)
  expect([erased.code, erased.stderr]).toEqual([64, expect.stringContaining('there is nothing to erase')])
  const resolved = await fencegate('resolve', 'nothing', '--as', 'applied', '--reason', 'x', ...WITH_TOKEN)
  expect([resolved.code, resolved.stderr]).toEqual([64, expect.stringContaining('no record nothing')])
})

test('reset: refused while it is not frozen; then the command that the first step prints does it', async () => {
  await write('poisoned', 9e15)
  const reset = ['reset', 'poisoned', '--to', '7', '--reason', 'a typing error', ...SOCKET]
  const refused = await fencegate(...reset)
  expect([refused.code, refused.stderr]).toEqual([64, expect.stringMatching(/freeze/i)])
  await fencegate('freeze', 'poisoned', '--reason', 'INC-7', ...SOCKET)
  const { stdout } = await fencegate(...reset)
  expect(stdout).toContain('The mark of poisoned would go from 9000000000000000 down to 7.')
  expect(stdout).toContain('P1')
  expect(await json('task', 'poisoned', ...SOCKET)).toMatchObject([{ mark: '9000000000000000' }])
  const [, code = ''] = / --confirm (\w+)/.exec(stdout) ?? []
  expect((await fencegate(...reset, '--confirm', `${code}0`)).code).toBe(64)
  expect((await fencegate(...reset, '--confirm', code)).stdout).toContain('The mark of poisoned is 7')
  await fencegate('thaw', 'poisoned', '--reason', 'mended', ...SOCKET)
  expect((await write('poisoned', 7)).status).toBe(200)
  const acts = await json('journal', '--task', 'poisoned', '--kind', 'act', ...SOCKET)
  expect(acts.find(({ data }) => (data as { act: string }).act === 'reset')).toMatchObject({
    data: { from: '9000000000000000', to: '7', breaks: 'P1', reason: 'a typing error' },
  })
})

test('retire leaves a floor for the prefix, and no floor below an idle mark', async () => {
  const retire = ['retire', '--prefix', 'daily-', '--idle', '1h', '--reason', 'closed', ...WITH_TOKEN]
  expect(await json(...retire, '--floor', '41')).toMatchObject([
    { prefix: 'daily-', floor: '41', retired: 0 },
  ])
  refusal(await write('daily-1', 40), 412, 'stale-token')
  expect((await write('daily-1', 41)).status).toBe(200)
  expect((await fencegate('store', ...SOCKET)).stdout).toContain('floor of daily-*  41')
  const soon = await fencegate(
    'retire',
    '--prefix',
    'daily-',
    '--idle',
    '1m',
    '--floor',
    '41',
    '--reason',
    'x',
    ...SOCKET,
  )
  expect([soon.code, soon.stderr]).toEqual([64, expect.stringContaining('idleMs')])
})

test('backup: a store that can be opened, and never over a file', async () => {
  const file = path.join(directory, 'backup.db')
  const backup = ['backup', path.relative(process.cwd(), file), '--reason', 'nightly', ...SOCKET]
  expect(await json(...backup)).toMatchObject([{ file, bytes: fs.statSync(file).size }])
  const db = new DatabaseSync(file, { readOnly: true })
  expect(db.prepare('SELECT count(*) AS n FROM marks').get()?.n).toBeGreaterThan(3)
  db.close()
  const again = await fencegate(...backup)
  expect(again).toMatchObject({ code: 64, stdout: '', stderr: expect.stringContaining('exists already') })
})

test('acts without a token, or with one that is not known, change nothing', async () => {
  const freeze = ['freeze', 'safe', '--reason', 'x']
  const without = await fencegate(...freeze, ...SERVER)
  expect([without.code, without.stderr]).toEqual([64, expect.stringContaining('--token-file names the file')])
  expect((await fencegate(...freeze, ...SERVER, '--token-file', wrongFile)).code).toBe(64)
  expect((await write('safe', 1)).status).toBe(200)
})

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

test('journal --follow goes on over a restart of the sidecar, misses nothing, and ends with 0 on SIGINT', async () => {
  const main = path.join(import.meta.dirname, '../../src/main.ts')
  const args = ['journal', '--follow', '--last', '1', '--kind', 'act', '--json', ...SOCKET]
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH } })
  children.push(child)
  const changes = new Changes()
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    changes.notify()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    changes.notify()
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const acts = () =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const seen = (count: number) => changes.when(() => acts().length >= count, `${count} acts`, 20_000)

  await seen(1)
  expect((await fencegate('freeze', 'followed', '--reason', 'first', ...SOCKET)).code).toBe(0)
  await seen(2)
  expect(await sidecar.stop()).toBe(0)
  const next = await sidecar.restart()
  expect((await fencegate('freeze', 'followed-2', '--reason', 'second', ...SOCKET)).code).toBe(0)
  await seen(3)
  expect(
    acts()
      .slice(1)
      .map(({ data }) => data.reason),
  ).toEqual(['first', 'second'])
  await changes.when(() => stderr.includes('It answers again.'), 'the notice', 20_000)
  child.kill('SIGINT')
  expect(await ended).toBe(0)
  expect(await next.stop()).toBe(0)
})

test('a sidecar that has stopped: 69, over either', async () => {
  for (const where of [SOCKET, SERVER]) {
    for (const command of [
      ['status'],
      ['top', '--once'],
      ['journal', '--follow'],
      ['fence', 'K', '--reason', 'x'],
    ]) {
      const { code, stdout, stderr } = await fencegate(...command, ...where)
      expect([code, stdout, stderr]).toEqual([69, '', expect.stringContaining('no sidecar answers at')])
    }
  }
})
