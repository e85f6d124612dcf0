/** What every kind of mutation works with. They change a draft in place. */
import { between, pick, type Random } from '../torture/random.ts'
import { chunk, type Draft, type DraftField, field, lastChunk } from './draft.ts'
import { add } from './honest.ts'
import { TAG } from './input.ts'

export type Mutation = (draft: Draft, random: Random) => void
/** By name. */
export type Mutations = Readonly<Record<string, Mutation>>

/** What some reader or other takes for a separator, or for nothing. */
export const SEPARATORS = [
  ...[
    '',
    ' ',
    '  ',
    '\t',
    ' \t',
    '\r',
    '\n',
    '\r\n',
    '\n\n',
    '\r\r\n',
    '\n\r',
    '\r\n\r\n',
    '\r\n ',
    '\r\n\t',
  ],
  ...['\0', '\x01', '\x0b', '\x0c', '\x1f', '\x7f', '\x85', '\xa0', '\xff', ':', '::', ' :', ',', ';'],
]

/** What stands between spaces. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** Another request: whether the strict reader sees it depends on the framing around it. */
export const SMUGGLED =
  `PUT /smuggled HTTP/1.1\r\nHost: a\r\nX-Fuzz-Id: ${TAG}.9.9\r\nFencing-Task: task-${TAG}\r\n` +
  'Fencing-Token: 9\r\nContent-Length: 0\r\n\r\n'

export function named({ fields }: Draft, name: string): DraftField[] {
  return fields.filter((one) => one.name.toLowerCase() === name.toLowerCase())
}

/** Gives the field this value; adds the field if it isn't there. */
export function set(draft: Draft, random: Random, name: string, value: string): void {
  const [present] = named(draft, name)
  if (present) present.value = value
  else add(draft, random, field(name, value))
}

export function drop(draft: Draft, name: string): void {
  const gone = named(draft, name)
  draft.fields = draft.fields.filter((one) => !gone.includes(one))
}

/** Frames the request anew, around a body that may look like something else. */
export function reframe(draft: Draft, random: Random, chunked: boolean): void {
  drop(draft, 'content-length')
  drop(draft, 'transfer-encoding')
  const body = pick(random, [draft.body, 'body', SMUGGLED, `0\r\n\r\n${SMUGGLED}`, `1\r\na\r\n0\r\n\r\n`])
  draft.body = chunked ? '' : body
  draft.chunks = chunked ? [...(body === '' ? [] : [chunk(body)]), lastChunk()] : []
  draft.end = chunked ? '\r\n' : ''
  if (chunked) add(draft, random, field('Transfer-Encoding', 'chunked'))
  else add(draft, random, field('Content-Length', String(body.length)))
}

/** Puts a separator anywhere into the text. */
export function split(text: string, random: Random): string {
  const at = between(random, 0, text.length + 1)
  return text.slice(0, at) + pick(random, SEPARATORS) + text.slice(at)
}

/** Changes what separates the parts of a field. */
export function separate(one: DraftField, random: Random): void {
  const part = pick(random, ['colon', 'space', 'eol'] as const)
  one[part] = pick(random, SEPARATORS)
  if (part === 'colon' && random() < 0.5) one.colon += ':'
}
