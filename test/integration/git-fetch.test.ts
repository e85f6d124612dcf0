/** Fetches by git's own client: reads need no token, their POSTs only where a route says that they are reads. */
import { expect, it } from 'vitest'
import { claimed, tryGit, WorkingCopy } from './git.ts'
import { gitScene } from './git-scene.ts'

const { backend, repository, decided } = await gitScene()
/** Enough that the commits which a fetch names fill more than the 1024 bytes from which git packs them. */
const COMMITS = 100

it.each(['0', '2'])('fetches without a token, in protocol %s', async (version) => {
  const { copy, url } = await repository(`open/plain-${version}.git`)
  const commit = await copy.commit(200_000)
  expect(await copy.push(claimed('plain', 9))).toMatchObject({ code: 0 })
  const reader = await WorkingCopy.create(url)
  await reader.git('-c', `protocol.version=${version}`, 'fetch', 'origin')
  await reader.git('fsck', '--full')
  expect(await reader.git('rev-parse', 'origin/main')).toBe(commit)
  const [post] = backend.posts('git-upload-pack')
  expect(post?.headers['git-protocol']).toBe(version === '2' ? 'version=2' : undefined)
  for (const { headers } of backend.posts('git-upload-pack')) {
    expect(headers['fencing-token']).toBeUndefined()
  }
})

it.each(['0', '2'])('passes gzipped requests, in protocol %s', async (version) => {
  const { copy, url } = await repository(`open/gzip-${version}.git`)
  await copy.commit()
  expect(await copy.push(claimed('gzip', 9))).toMatchObject({ code: 0 })
  const reader = await WorkingCopy.create(url)
  await reader.git('pull', '--quiet', 'origin', 'main')
  await reader.grow(COMMITS)
  const commit = await copy.commit()
  expect(await copy.push(claimed('gzip', 9))).toMatchObject({ code: 0 })
  backend.requests.length = 0
  await reader.git('-c', `protocol.version=${version}`, 'fetch', 'origin')
  expect(await reader.git('rev-parse', 'origin/main')).toBe(commit)
  const packed = backend
    .posts('git-upload-pack')
    .filter(({ headers }) => headers['content-encoding'] === 'gzip')
  expect(packed.length).toBeGreaterThan(0)
})

it('refuses a fetch without a token where no route says that its POST is a read', async () => {
  const { copy, url } = await repository('closed/plain.git')
  await copy.commit()
  expect(await copy.push(claimed('closed', 9))).toMatchObject({ code: 0 })
  const reader = await WorkingCopy.create(url)
  const refused = await tryGit(reader.directory, ['fetch', 'origin'])
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('HTTP 428')
  expect([backend.posts('git-upload-pack').length, await decided('token-required')]).toEqual([0, 1])
  expect(await tryGit(reader.directory, [...claimed('closed', 9), 'fetch', 'origin'])).toMatchObject({
    code: 0,
  })
})
