/** Directories that go with the test that asked for them. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

export function temporaryDirectory(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  return directory
}
