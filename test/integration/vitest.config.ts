import { defineConfig } from 'vitest/config'

/** Run by `run.sh`, in a mount namespace of its own. */
export default defineConfig({
  test: {
    name: 'integration',
    root: `${import.meta.dirname}/../..`,
    include: ['test/integration/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
