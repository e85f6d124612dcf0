/**
 * A request taken apart to its separators, so that a mutation can put anything in any place. Everything is text, a
 * byte a character, and goes out as it stands.
 */

export interface DraftField {
  name: string
  colon: string
  space: string
  value: string
  eol: string
}

export interface DraftChunk {
  size: string
  extension: string
  eol: string
  data: string
  end: string
}

export interface Draft {
  /** Before the request line. */
  lead: string
  method: string
  space1: string
  target: string
  space2: string
  version: string
  eol: string
  fields: DraftField[]
  headEnd: string
  /** Behind the head, unless there are chunks. */
  body: string
  /** The last one has no data. */
  chunks: DraftChunk[]
  trailers: DraftField[]
  /** Behind the trailers of a chunked body. */
  end: string
}

export function field(name: string, value: string): DraftField {
  return { name, colon: ':', space: ' ', value, eol: '\r\n' }
}

export function chunk(data: string): DraftChunk {
  return { size: data.length.toString(16), extension: '', eol: '\r\n', data, end: '\r\n' }
}

export function lastChunk(): DraftChunk {
  return { size: '0', extension: '', eol: '\r\n', data: '', end: '' }
}

export function rendered(draft: Draft): string {
  const { lead, method, space1, target, space2, version, eol, fields, headEnd, body, chunks, trailers, end } =
    draft
  const head = `${lead}${method}${space1}${target}${space2}${version}${eol}${lines(fields)}${headEnd}`
  if (chunks.length === 0) return head + body
  const encoded = chunks.map((one) => `${one.size}${one.extension}${one.eol}${one.data}${one.end}`)
  return head + encoded.join('') + lines(trailers) + end
}

function lines(fields: readonly DraftField[]): string {
  return fields.map(({ name, colon, space, value, eol }) => name + colon + space + value + eol).join('')
}
