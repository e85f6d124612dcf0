/** What pages show of fencegate exists: configurations are valid, commands and their options are there. */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { isMap, parseDocument } from 'yaml'
import { makeProgram } from '../../src/cli/program.ts'
import { loadConfig } from '../../src/config/load.ts'
import { configSchema } from '../../src/config/schema.ts'
import { faultsIn } from '../support/config-file.ts'
import { readPage } from '../support/markdown.ts'
import { directoryWithFiles } from '../support/snippets.ts'
import { ROOT, sourceFiles } from '../support/sources.ts'

const directory = directoryWithFiles()
afterAll(() => fs.rmSync(directory, { recursive: true }))

const fences = sourceFiles('.', '.md').flatMap(({ path: file, text }) =>
  readPage(text).fences.map((fence) => ({ ...fence, where: `${file}:${fence.line}` })),
)

/** It has a key of fencegate's at its top; a manifest or the values of a chart have none. */
function isConfiguration(yaml: string): boolean {
  const { contents } = parseDocument(yaml)
  const keys = isMap(contents) ? contents.items.map(({ key }) => String(key)) : []
  return !keys.includes('kind') && keys.some((key) => key in configSchema.properties)
}

it('each configuration passes check-config', () => {
  const shown = fences.filter(({ language, text }) => language === 'yaml' && isConfiguration(text))
  const file = path.join(directory, 'shown.yaml')
  const faults = shown.flatMap(({ text, where }) => {
    fs.writeFileSync(file, text)
    const flags = /^upstream:/m.test(text) ? {} : { upstream: 'http://127.0.0.1:9200' }
    return faultsIn(() => loadConfig({ file, env: {}, flags })).map((fault) => `${where}: ${fault}`)
  })
  expect(faults).toEqual([])
  expect(shown.length).toBeGreaterThan(8)
})

/** The words of each `fencegate` command in a snippet. */
function commandsIn(text: string): string[][] {
  const lines = text.replaceAll('\\\n', ' ').split('\n')
  return lines.flatMap((line) => {
    const bare = line.replace(/(^|\s)#.*$/, '').replace(/"[^"]*"|'[^']*'/g, 'x')
    return bare
      .split(/&&|\|\||[|;&]|\$\(/)
      .map((part) => part.trim().split(/\s+/))
      .flatMap((words) => {
        const at = words.indexOf('fencegate')
        return at === -1 || words.slice(0, at).some((word) => !/=|^(sudo|exec)$/.test(word))
          ? []
          : [words.slice(at + 1)]
      })
  })
}

const program = makeProgram(() => {})

/** What no such command takes. */
function commandFault([name = '', ...words]: string[]): string | undefined {
  if (name.startsWith('-')) return undefined
  if (name === 'help') return words.length === 0 ? undefined : commandFault(words)
  const command = program.commands.find((each) => each.name() === name)
  if (!command) return `there is no command "${name}"`
  const known = new Set(['--help', '-h', ...command.options.flatMap(({ long, short }) => [long, short])])
  const option = words.find((word) => word.startsWith('-') && !known.has(word.split('=')[0]))
  return option === undefined ? undefined : `"${name}" has no option ${option}`
}

it('each command exists, with its options', () => {
  const shown = fences
    .filter(({ language }) => language === 'sh' || language === 'bash')
    .flatMap(({ text, where }) => commandsIn(text).map((words) => ({ words, where })))
  const faults = shown.flatMap(({ words, where }) => {
    const fault = commandFault(words)
    return fault === undefined ? [] : [`${where}: ${fault}`]
  })
  expect(faults).toEqual([])
  expect(shown.length).toBeGreaterThan(20)
})

it('each script of the package exists', () => {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
  const named = fences.flatMap(({ text, where }) =>
    [...text.matchAll(/^\s*npm run ([\w:-]+)/gm)].map(([, name]) => ({ name: name as string, where })),
  )
  expect(named.filter(({ name }) => !(name in scripts))).toEqual([])
})

it('a wrong command or option is seen', () => {
  const [right, wrong, option] = commandsIn(
    'fencegate freeze k --reason "a --b" | head\nX=1 fencegate fly\nfencegate tasks --fly # --x',
  )
  expect(commandFault(right as string[])).toBeUndefined()
  expect(commandFault(wrong as string[])).toBe('there is no command "fly"')
  expect(commandFault(option as string[])).toBe('"tasks" has no option --fly')
})
