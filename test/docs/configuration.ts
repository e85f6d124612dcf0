/**
 * The reference of the configuration, as Markdown: the keys and what they take from the schema, the words from the
 * comments of the example file. Nothing is said here that is not said there.
 */
import { type Key, type Schema, shownKeys, text } from '../support/config-example.ts'

/** Blocks of the file's first comment that are about the file, not about its keys. */
const OF_THE_FILE = 3

const HEAD = `# Configuration reference

<!-- Made by "node test/docs/main.ts" from src/config/schema.ts and config/fencegate.example.yaml: change those. -->

[config/fencegate.example.yaml](../config/fencegate.example.yaml) has the same as a file to start from.
\`fencegate check-config --config FILE\` checks a file, and says what is fenced and what is not. Unknown keys are refused.
`

export function configurationReference(): string {
  // A route's upstream has the keys of the file's.
  const keys = [...shownKeys].filter(([keyPath]) => !keyPath.startsWith('routes[].upstream.'))
  const sections = keys.map(([keyPath, key]) => section(keyPath, key))
  return `${[HEAD, introduction(), contents(keys.map(([keyPath]) => keyPath)), ...sections].join('\n')}`
}

/** The comment at the top of the example, as Markdown. */
function introduction(): string {
  const lines = text.slice(0, text.search(/^$/m)).split('\n')
  const blocks = lines
    .map((line) => line.replace(/^# ?/, ''))
    .join('\n')
    .trim()
    .split('\n\n')
    .slice(OF_THE_FILE)
  return `${blocks.map((block) => (/^ {2}/.test(block) ? fenced(block) : block)).join('\n\n')}\n`
}

function fenced(block: string): string {
  return `\`\`\`text\n${block.replace(/^ {2}/gm, '')}\n\`\`\``
}

/** A line for each key at the top, with those directly in it. */
function contents(keyPaths: readonly string[]): string {
  const top = keyPaths.filter((keyPath) => !/[.[]/.test(keyPath))
  const lines = top.map((name) => {
    const within = keyPaths.filter((keyPath) => new RegExp(`^${name}(\\[\\])?\\.[^.[]+$`).test(keyPath))
    const links = within.map((keyPath) => link(keyPath, keyPath.split('.').at(-1) as string))
    return `- ${link(name, name)}${links.length === 0 ? '' : `: ${links.join(', ')}`}`
  })
  return `## All keys\n\n${lines.join('\n')}\n`
}

function link(keyPath: string, words: string): string {
  return `[\`${words}\`](#${anchor(keyPath)})`
}

/** As the headings' anchors are made. */
function anchor(heading: string): string {
  return heading.toLowerCase().replace(/[^\w -]/g, '')
}

function section(keyPath: string, { schema, comment }: Key): string {
  const level = keyPath.includes('.') ? '###' : '##'
  const { words, facts } = parted(own(comment), schema)
  const takes = schema.type === 'object' ? undefined : schema.description
  const last = [takes && `Takes ${takes}.`, ...facts].filter(Boolean).join(' ')
  return [`${level} \`${keyPath}\``, words, last]
    .filter((part) => part !== '')
    .map((part) => `${part}\n`)
    .join('\n')
}

/** Before the first key stands the comment of the file as well. */
function own(comment: string): string {
  return comment.split('\n\n').at(-1) as string
}

/** What a comment says, and its last words, which tell the default. */
function parted(comment: string, { default: value }: Schema): { words: string; facts: string[] } {
  const lines = comment.split('\n').map((line) => line.replace(/^ /, ''))
  const first = lines.findIndex((line) => line.startsWith('Default: '))
  const said = (first === -1 ? lines : lines.slice(0, first)).join('\n').trim()
  const required = /\s*\bRequired\.$/.test(said)
  const words = said.replace(/\s*\bRequired\.$/, '')
  const told = first === -1 ? undefined : /^Default: (.*)\.$/.exec(lines.slice(first).join(' '))?.[1]
  const fallback = told === undefined ? [] : [`Default: ${named(told, typeof value === 'object')}.`]
  return { words, facts: required ? ['Required.'] : fallback }
}

/** A value in code, words as they are. Nothing in a list is a word, and a choice is a value. */
function named(value: string, isList: boolean): string {
  const inWords = isList ? !value.startsWith('[') : value.includes(' ')
  return inWords ? value : `\`${value}\``
}
