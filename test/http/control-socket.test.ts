/** The control socket: only its user's, there while the sidecar runs, and strict about what it is asked. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { control, fencegate, rows } from '../support/operator.ts'
import { exchange } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { Sidecar, serve, settings, temporaryDirectory } from '../support/sidecar.ts'

const { upstream, sidecar } = await scene()
const socketOf = ({ data }: Sidecar) => path.join(data, 'control.sock')
const because = { by: 'ana', reason: 'INC-7' }
const post = (target: string, body?: unknown) => control(sidecar, 'POST', target, body)

test('it belongs to its user alone', () => {
  const stat = fs.statSync(socketOf(sidecar))
  expect(stat.isSocket()).toBe(true)
  expect(stat.mode & 0o777).toBe(0o600)
})

test.each([
  ['no reason', { by: 'ana' }, "required property 'reason'"],
  ['no author', { reason: 'x' }, "required property 'by'"],
  ['an empty reason', { ...because, reason: '' }, 'body/reason'],
  ['a key too many', { ...because, tokn: '9' }, 'additional'],
  ['a number for a token', { ...because, token: 9 }, 'body/token'],
  ['a token with a sign', { ...because, token: '+9' }, 'from 1 to 9223372036854775807'],
  ['a token too large', { ...because, token: '9223372036854775808' }, 'from 1 to 9223372036854775807'],
])('thaw with %s is refused, and changes nothing', async (_, body, message) => {
  expect((await post('/v1/tasks/T/freeze', because)).status).toBe(200)
  const { status, body: answer } = await post('/v1/tasks/T/thaw', body)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(answer.error).toContain(message)
  expect((await exchange(sidecar.port, claim('T', 1))).status).toBe(423)
})

test('a task of any 256 visible characters can be named, and nothing else', async () => {
  const frozen = (task: string) => post(`/v1/tasks/${encodeURIComponent(task)}/freeze`, because)
  for (const task of ['/'.repeat(256), '%41', '..', 'a?b#c', '"\\']) {
    expect((await frozen(task)).status).toBe(200)
    expect((await exchange(sidecar.port, claim(task, 1))).status).toBe(423)
  }
  expect((await exchange(sidecar.port, claim('A', 1))).status).toBe(200)
  for (const task of ['a b', 'caf\u00e9', 'a'.repeat(257)]) {
    expect((await frozen(task)).status).toBe(400)
  }
})

test.each(['0', '-1', '1e3', '10001', 'all', ''])('unknown --limit %j: 64', async (limit) => {
  const { status, body } = await control(sidecar, 'GET', `/v1/unknown?limit=${limit}`)
  expect([status, body.error]).toEqual([400, expect.stringContaining('write a whole number from 1 to 10000')])
})

test('an author that nobody named is the user', async () => {
  const { code } = await fencegate('freeze', 'mine', '--reason', 'because', '--data', sidecar.data)
  expect(code).toBe(0)
})

test('kill -9 leaves it behind, the next start replaces it, a stop removes it', async () => {
  await sidecar.kill()
  expect(fs.existsSync(socketOf(sidecar))).toBe(true)
  const asked = await fencegate('freeze', 'K', '--reason', 'x', '--data', sidecar.data)
  expect(asked).toMatchObject({ code: 69, stdout: '' })
  expect(asked.stderr).toContain(`no sidecar answers at ${socketOf(sidecar)} (ECONNREFUSED)`)

  const next = await sidecar.restart()
  expect(fs.statSync(socketOf(next)).mode & 0o777).toBe(0o600)
  expect((await control(next, 'GET', '/v1/unknown')).status).toBe(200)
  expect(await next.stop()).toBe(0)
  expect(fs.existsSync(socketOf(next))).toBe(false)
  const mine = rows(next, 'journal').find(({ task }) => task === 'mine')
  expect(JSON.parse(mine?.data as string).by).toMatch(/./)
})

test('commands find the data directory as serve does', async () => {
  const own = await Sidecar.start({ upstream: upstream.url })
  const file = path.join(temporaryDirectory(), 'fencegate.yaml')
  fs.writeFileSync(file, `store: { path: ${own.data} }\n`)
  const listed = await fencegate('unknown', '--config', file)
  expect(listed).toEqual({ code: 0, stdout: 'No outcome is unknown.\n', stderr: '' })
  expect(await own.stop()).toBe(0)
})

test('a data directory too deep for a Unix socket: 64, before anything is bound or made', async () => {
  const data = path.join(temporaryDirectory(), 'd'.repeat(100))
  const refused = serve(settings(upstream.url, data))
  expect(await refused.exitCode(20_000)).toBe(64)
  expect(refused.stderr).toContain(`store.path: ${data} is too long a path by`)
  expect(refused.logs).toEqual([])
  expect(fs.existsSync(data)).toBe(false)
})
