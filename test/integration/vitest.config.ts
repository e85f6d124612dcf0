import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** Tests start hundreds of processes of the same files: what one has compiled the next one takes from here. */
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, '../../node_modules/.cache/compiled')

/** The shards of `run.sh`, each a run of its own in a mount namespace of its own. */
const shard = (name: string, files: string) => ({
  test: {
    name,
    root: `${import.meta.dirname}/../..`,
    include: files.split(' ').map((file) => `test/integration/${file}.test.ts`),
    pool: 'forks' as const,
    setupFiles: [`${import.meta.dirname}/../support/end-sidecars.ts`],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})

export default defineConfig({
  test: {
    maxWorkers: 1,
    projects: [
      shard('servers', '{etcd,full,git,torture,webdav}-*'),
      shard('browser', 'browser-*'),
      shard('tools', '{docs,metrics,prometheus,top}-*'),
      shard('chart', 'helm-*'),
      shard('faults-gate', 'planted-gate'),
      shard('faults-wire', 'planted-wire'),
      shard('faults-once', 'planted-once'),
      shard('faults-operate', 'planted-operate'),
    ],
  },
})
