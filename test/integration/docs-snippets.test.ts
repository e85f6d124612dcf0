/** The shell snippets of the guides do what the guides say. CONTRIBUTING.md has the conventions. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { readPage } from '../support/markdown.ts'
import { isRun, PageRun } from '../support/snippets.ts'
import { sourceFiles } from '../support/sources.ts'

const pages = sourceFiles('.', '.md').map(({ path: file, text }) => ({ file, ...readPage(text) }))
/** In others the snippets are of an incident, of a cluster, or of the repository itself. */
const guides = pages.filter(({ file }) => /^(README\.md|docs\/(recipes\/)?[a-z0-9-]+\.md)$/.test(file))
const running = guides.filter(({ fences }) => fences.some(isRun))

it('are shell', () => {
  const faults = pages.flatMap(({ file, fences }) =>
    fences
      .filter(({ language }) => language === 'sh' || language === 'bash')
      .flatMap(({ text, line }) => {
        const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })
        return status === 0 ? [] : [`${file}:${line}: ${stderr}`]
      }),
  )
  expect(faults).toEqual([])
})

describe('run as their page says', () => {
  it.each(running)('$file', async (page) => {
    expect(await PageRun.of(page)).toEqual([])
  })
})
