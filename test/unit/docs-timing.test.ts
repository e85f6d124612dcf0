/** Each test that the table of timing assumptions names is there. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../support/sources.ts'

const page = fs.readFileSync(path.join(ROOT, 'docs/timing.md'), 'utf8')
const rows = page.split('\n').filter((line) => /^\| (?!-|assumption|what may)/.test(line))

it('every row names a test that is there', () => {
  const faults = rows.flatMap((row) => {
    const named = [...row.matchAll(/`(test\/[\w./-]+\.ts)`\s+"([^"]+)"/g)]
    if (named.length === 0) return [`no test in: ${row}`]
    return named.flatMap(([, file, title]) => {
      const at = path.join(ROOT, file as string)
      if (!fs.existsSync(at)) return [`no such file: ${file}`]
      return fs.readFileSync(at, 'utf8').includes(title as string) ? [] : [`${file} has no test "${title}"`]
    })
  })
  expect(faults).toEqual([])
  expect(rows.length).toBeGreaterThan(20)
})
