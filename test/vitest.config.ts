import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** Tests start hundreds of processes of the same files: what one has compiled the next one takes from here. */
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, '../node_modules/.cache/compiled')

const END_SIDECARS = `${import.meta.dirname}/support/end-sidecars.ts`

/** Loading what a file needs takes as long as many a test, so files of a kind share a process, one after the other. */
const SHARED = { isolate: false }
/** The same, for files that start sidecars. */
const WITH_SIDECARS = { isolate: false, setupFiles: [END_SIDECARS] }

/** One project a kind of test; `npm run check` runs `unit` alone, `npm test` all of them. */
const project = (
  name: string,
  testTimeout: number,
  options: { isolate?: boolean; setupFiles?: string[] } = {},
) => ({
  test: {
    name,
    root: `${import.meta.dirname}/..`,
    include: [`test/${name}/**/*.test.ts`],
    pool: 'forks' as const,
    testTimeout,
    hookTimeout: testTimeout,
    ...options,
  },
})

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project('unit', 10_000, SHARED),
      project('contract', 60_000),
      project('property', 120_000, SHARED),
      project('process', 240_000, { setupFiles: [END_SIDECARS] }),
      project('model', 240_000, SHARED),
      project('http', 60_000, WITH_SIDECARS),
      project('regression', 60_000, WITH_SIDECARS),
      project('clients', 60_000, WITH_SIDECARS),
      project('fuzz', 120_000),
    ],
  },
})
