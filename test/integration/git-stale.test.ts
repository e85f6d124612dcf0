/** Pushes by git's own client with a stale token: refused once, not retried, and what the user is told. */
import { expect, it } from 'vitest'
import { claimed } from './git.ts'
import { expectMain, gitScene } from './git-scene.ts'

const { backend, repository, decided } = await gitScene()
const LARGE = 2_000_000

it.each([
  ['with-a-length', 10_000, []],
  ['in-chunks', LARGE, ['-c', 'http.postBuffer=1']],
  ['after-100-continue', LARGE, ['-c', 'http.extraHeader=Expect: 100-continue']],
])('refuses a push %s once, and nothing of it reaches the server', async (how, bytes, options) => {
  const { server, copy } = await repository(`${how}.git`)
  const pushed = await copy.commit()
  expect(await copy.push(claimed(how, 9))).toMatchObject({ code: 0 })
  await copy.commit(bytes)
  backend.requests.length = 0
  const before = await decided('stale-token')
  const { code, stderr } = await copy.push([...claimed(how, 8), ...options])
  expect(code).toBe(1)
  expect(stderr).toContain('error: RPC failed; HTTP 412 curl 22 The requested URL returned error: 412')
  expect(await decided('stale-token')).toBe(before + 1)
  expect(backend.posts('git-receive-pack')).toEqual([])
  await expectMain(server, pushed)
})

it('shows the reason to a user who asks git for a trace', async () => {
  const { copy } = await repository('trace.git')
  await copy.commit()
  expect(await copy.push(claimed('trace', 9))).toMatchObject({ code: 0 })
  await copy.commit()
  const { stderr } = await copy.push(claimed('trace', 8), { trace: true })
  expect(stderr).toMatch(/Recv header: Proxy-Status: fencegate;.*details="stale-token"/)
})

it('refuses a push without a token', async () => {
  const { copy } = await repository('unclaimed.git')
  await copy.commit()
  const { code, stderr } = await copy.push([])
  expect([code, stderr]).toEqual([1, expect.stringContaining('HTTP 428')])
  expect(backend.posts('git-receive-pack')).toEqual([])
})
