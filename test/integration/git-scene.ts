/** One sidecar before one git server, shared by a file's tests. Routes let fetches pass and fence pushes. */
import { afterAll, beforeEach, expect } from 'vitest'
import { Sidecar } from '../support/sidecar.ts'
import { git, WorkingCopy } from './git.ts'
import { GitBackend } from './git-backend.ts'

export interface GitScene {
  readonly backend: GitBackend
  readonly sidecar: Sidecar
  /** A new repository at the server, and a working copy whose remote is behind the sidecar. */
  readonly repository: (name: string) => Promise<{ server: string; copy: WorkingCopy; url: string }>
  readonly decided: (decision: string) => Promise<number>
}

/** Called at the top of a test file. The backend's record is fresh in each test. */
export async function gitScene(): Promise<GitScene> {
  const backend = await GitBackend.start()
  beforeEach(() => {
    backend.requests.length = 0
  })
  afterAll(() => backend.close())
  const sidecar = await Sidecar.start({
    upstream: backend.url,
    config: {
      routes: [
        // A POST that only reads.
        { name: 'fetch', match: { methods: ['POST'], path: '/open/{task}/git-upload-pack' }, guard: 'none' },
        { name: 'push', match: { methods: ['POST'], path: '/named/{task}/git-receive-pack' } },
      ],
    },
  })
  const repository = async (name: string) => {
    const server = await backend.create(name)
    const url = `http://127.0.0.1:${sidecar.port}/${name}`
    return { server, url, copy: await WorkingCopy.create(url) }
  }
  return {
    backend,
    sidecar,
    repository,
    decided: async (decision) => (await sidecar.metrics()).sum('fencegate_decisions_total', { decision }),
  }
}

/** Expects the server's repository to be sound, with `main` at this commit. */
export async function expectMain(server: string, commit: string): Promise<void> {
  await git(server, 'fsck', '--full', '--strict')
  expect(await git(server, 'rev-parse', 'refs/heads/main')).toBe(commit)
}
