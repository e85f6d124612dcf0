/** docs/commands.md and the help texts are true to the program: every command and option, and examples that parse. */
import fs from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { makeProgram } from '../../src/cli/program.ts'

const DOCS = fs.readFileSync(path.join(import.meta.dirname, '../../docs/commands.md'), 'utf8')
const README = fs.readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8')

function commandsOf(program: Command): Command[] {
  return [...program.createHelp().visibleCommands(program)]
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
  return text
}

const program = makeProgram(() => {})
const commands = commandsOf(program).map((command) => [command.name(), command] as const)

/** The text under a heading, up to the next one. */
function section(heading: string): string {
  const [, after = ''] = DOCS.split(new RegExp(`^${heading}$`, 'm'))
  return after.split(/^##/m)[0] as string
}

test.each(commands)('%s: its options and arguments are in docs/commands.md', (name, command) => {
  const text = section(`### ${name}`)
  expect(text).not.toBe('')
  const common = section('## Options of many commands')
  const flags = command
    .createHelp()
    .visibleOptions(command)
    .map((option) => option.flags)
  const missing = flags.filter(
    (flag) => ![text, common].some((part) => part.replace(/\s+/g, ' ').includes(`\`${flag}\``)),
  )
  expect(missing).toEqual([])
  for (const argument of command.registeredArguments) {
    const shown = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
    expect(text).toContain(`fencegate ${name} ${shown}`)
  }
})

test('docs/commands.md has no command and no option that there is not', () => {
  const headings = [...DOCS.matchAll(/^### (.*)$/gm)].map(([, name]) => name)
  expect(headings.sort()).toEqual(commands.map(([name]) => name).sort())
  const known = [program, ...commands.map(([, command]) => command)].flatMap((command) =>
    command
      .createHelp()
      .visibleOptions(command)
      .map(({ long }) => long),
  )
  const named = [...DOCS.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag)
  expect(named.filter((flag) => !known.includes(flag))).toEqual([])
})

const EXIT_CODES = /^Exit codes: 0 .*64/ms
test.each(commands.filter(([name]) => name !== 'help'))(
  '%s --help says how it is used, and how it ends',
  (_, command) => {
    const text = helpOf(command)
    expect(text).toMatch(EXIT_CODES)
    expect(text).toMatch(/^Examples:\n {2}/m)
  },
)

/** The words of a line of a shell, up to a redirection or pipe. */
function wordsOf(line: string): string[] {
  const [command = ''] = line.split(/ [|>#] | {2,}#|\)$/)
  return [...command.matchAll(/(?:"([^"]*)"|'([^']*)'|[^\s"'])+/g)].map(([word]) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, '$1$2'),
  )
}

/** Each line that is set in and begins with fencegate, less what stands before it. */
function examplesIn(text: string): string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => /^ {2}(?:[A-Z_]+=\S+ |source <\()?(fencegate [a-z-].*)$/.exec(line)?.[1] ?? [])
}

const blocks = (markdown: string) =>
  [...markdown.matchAll(/```sh(?: norun)?\n(.*?)```/gs)]
    .map(([, block = '']) => block.replace(/^ */gm, '  '))
    .join('\n')
const help = [program, ...commands.map(([, command]) => command)].map(helpOf).join('\n')
const examples = [help, blocks(DOCS), blocks(README)].flatMap(examplesIn)

test('there are examples, of every command', () => {
  const named = new Set(examples.map((line) => wordsOf(line)[1]))
  expect(commands.map(([name]) => name).filter((name) => !named.has(name))).toEqual([])
})

test.each([...new Set(examples)])('%s', async (line) => {
  const parsed = makeProgram(() => {})
  const ran: string[] = []
  for (const command of commandsOf(parsed)) command.exitOverride().action(() => void ran.push(command.name()))
  const [, ...args] = wordsOf(line)
  parsed.configureOutput({ writeErr: () => {}, writeOut: () => {} })
  if (args[0] === 'help') return expect(parsed.commands.map((command) => command.name())).toContain(args[1])
  await parsed.parseAsync(args, { from: 'user' })
  expect(ran).toEqual([args[0]])
})
