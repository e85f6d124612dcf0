import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** Tests start hundreds of processes of the same files: what one has compiled the next one takes from here. */
process.env.NODE_COMPILE_CACHE ??= path.join(import.meta.dirname, '../node_modules/.cache/compiled')

/** Files that start no process share theirs, which saves the time to load what they test again and again. */
const TOGETHER = false

/** One project a kind of test; `npm run check` runs `unit` alone, `npm test` all of them. */
const project = (name: string, testTimeout: number, isolate = true) => ({
  test: {
    name,
    root: `${import.meta.dirname}/..`,
    include: [`test/${name}/**/*.test.ts`],
    pool: 'forks' as const,
    isolate,
    testTimeout,
    hookTimeout: testTimeout,
  },
})

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project('unit', 10_000, TOGETHER),
      project('contract', 60_000),
      project('property', 120_000, TOGETHER),
      project('process', 240_000),
      project('model', 240_000, TOGETHER),
      project('http', 60_000),
      project('regression', 60_000),
      project('clients', 60_000),
      project('fuzz', 120_000),
    ],
  },
})
