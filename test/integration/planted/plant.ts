/** Plants faults in a copy of the tree, one at a time, and runs the tests that must catch each. One that survives fails. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PlantedFault } from './planted-fault.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
let copy: string

/** Called at the top of a test file: a test for each fault. */
export function plantAll(faults: readonly PlantedFault[]): void {
  beforeAll(() => {
    copy = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-planted-'))
    for (const name of ['src', 'test', 'config', 'package.json', 'tsconfig.json', 'ARCHITECTURE.md']) {
      fs.cpSync(path.join(ROOT, name), path.join(copy, name), { recursive: true })
    }
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'))
  })

  afterAll(() => fs.rmSync(copy, { recursive: true, force: true }))

  test('the tests are green with nothing planted', async () => {
    const files = [...new Set(faults.flatMap(({ tests }) => tests))]
    const { passed, output } = await run(files)
    expect(passed, output).toBe(true)
  }, 400_000)

  for (const fault of faults) {
    test(`caught: ${fault.name}`, async () => {
      const restore = plant(fault)
      try {
        const { passed, output } = await run([...fault.tests])
        expect(passed, `the fault survived ${fault.tests.join(', ')}\n${output}`).toBe(false)
        // Red for what the fault does, not because nothing could be run.
        expect(output).toMatch(/AssertionError|Property failed|Timeout|timed out|did not happen/)
      } finally {
        restore()
      }
    })
  }
}

function plant({ file, find, plant }: PlantedFault): () => void {
  const target = path.join(copy, 'src', file)
  const sound = fs.readFileSync(target, 'utf8')
  expect(sound.split(find).length - 1, `"${find}" stands once in ${file}`).toBe(1)
  fs.writeFileSync(
    target,
    sound.replace(find, () => plant),
  )
  return () => fs.writeFileSync(target, sound)
}

/** Runs the test files in the copy, until the first red test. */
function run(files: readonly string[]): Promise<{ passed: boolean; output: string }> {
  const vitest = path.join(copy, 'node_modules/vitest/vitest.mjs')
  const args = [
    'run',
    '--config',
    'test/vitest.config.ts',
    '--bail',
    '1',
    ...files.map((file) => `test/${file}`),
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [vitest, ...args], {
      cwd: copy,
      env: { ...process.env, VITEST: undefined, NO_COLOR: '1' },
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child
      .on('error', reject)
      .on('exit', (code) => resolve({ passed: code === 0, output: output.slice(-4000) }))
  })
}
