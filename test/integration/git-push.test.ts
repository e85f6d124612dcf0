/** Pushes by git's own client with a current token, in each form that their bodies take. */
import { expect, it } from 'vitest'
import { claimed } from './git.ts'
import { expectMain, gitScene } from './git-scene.ts'

const { backend, repository } = await gitScene()
/** More than `http.postBuffer` at its lowest, 65520 bytes, so that git sends it in chunks. */
const LARGE = 2_000_000
const SMALL_BUFFER = ['-c', 'http.postBuffer=1']

it('pushes with a length', async () => {
  const { server, copy } = await repository('length.git')
  const commit = await copy.commit(10_000)
  expect(await copy.push(claimed('length', 9))).toMatchObject({ code: 0 })
  await expectMain(server, commit)
  const [post] = backend.posts('git-receive-pack')
  expect([post?.headers['fencing-task'], post?.headers['fencing-token']]).toEqual(['length', '9'])
  expect(Number(post?.headers['content-length'])).toBe(post?.bytes)
})

it('pushes in chunks, after a probe', async () => {
  const { server, copy } = await repository('chunked.git')
  const commit = await copy.commit(LARGE)
  expect(await copy.push([...claimed('chunked', 9), ...SMALL_BUFFER])).toMatchObject({ code: 0 })
  await expectMain(server, commit)
  const posts = backend.posts('git-receive-pack')
  expect(posts.map(({ headers }) => headers['transfer-encoding'])).toEqual([undefined, 'chunked'])
  expect(posts[0]?.bytes).toBe(4)
  expect(posts[1]?.bytes).toBeGreaterThan(LARGE)
})

it.each([
  ['with a length', []],
  ['in chunks', SMALL_BUFFER],
])('pushes %s after 100 Continue', async (_how, options) => {
  const { server, copy } = await repository(`expect-${options.length}.git`)
  const commit = await copy.commit(LARGE)
  const expecting = ['-c', 'http.extraHeader=Expect: 100-continue']
  const push = await copy.push([...claimed('expect', 9), ...options, ...expecting], { trace: true })
  expect(push).toMatchObject({ code: 0, stderr: expect.stringContaining('HTTP/1.1 100 Continue') })
  await expectMain(server, commit)
  for (const { headers } of backend.posts('git-receive-pack')) expect(headers.expect).toBeUndefined()
})

it('pushes on, deletes a branch, and passes the server’s own refusal on', async () => {
  const { server, copy } = await repository('more.git')
  const first = await copy.commit()
  await copy.git(...claimed('more', 9), 'push', '--quiet', 'origin', 'main', 'main:old')
  const second = await copy.commit()
  await copy.git(...claimed('more', 10), 'push', '--quiet', 'origin', 'main', ':old')
  await expectMain(server, second)
  await copy.git('reset', '--quiet', '--hard', first)
  await copy.commit()
  const refused = await copy.push(claimed('more', 10))
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('[rejected]') })
  await expectMain(server, second)
})

it('takes the task from the path, so that each repository is one', async () => {
  const { server, copy } = await repository('named/ledger.git')
  const other = await repository('named/other.git')
  const commit = await copy.commit()
  const token = (value: number) => ['-c', `http.extraHeader=Fencing-Token: ${value}`]
  expect(await copy.push(token(9))).toMatchObject({ code: 0 })
  await copy.commit()
  const stale = await copy.push(token(8))
  expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining('HTTP 412') })
  await expectMain(server, commit)
  await other.copy.commit()
  expect(await other.copy.push(token(1))).toMatchObject({ code: 0 })
})
