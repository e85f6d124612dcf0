/** The reference of the configuration is the one that the schema and the example make. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { configurationReference } from '../docs/configuration.ts'
import { shownKeys } from '../support/config-example.ts'
import { ROOT } from '../support/sources.ts'

const page = fs.readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8')

it('is up to date', () => {
  expect(page, 'docs/configuration.md is out of date: run "node test/docs/main.ts"').toBe(
    configurationReference(),
  )
})

it('has a heading for each key, and says what each takes', () => {
  for (const [keyPath, { schema }] of shownKeys) {
    if (keyPath.startsWith('routes[].upstream.')) continue
    const section = page.split(`# \`${keyPath}\`\n`)[1]?.split('\n#')[0]
    expect(section, keyPath).toBeDefined()
    if (schema.type !== 'object') expect(section, keyPath).toMatch(/^(Takes|Default:|Required)/m)
  }
})
