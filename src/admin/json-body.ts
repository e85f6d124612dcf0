/**
 * Reads JSON bodies strictly: UTF-8, and no key twice, of which other readers would take another one than this.
 */
import { RequestError } from './request-error.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })
const STRINGS = /("(?:[^"\\]|\\.)*")(\s*:)?/g

export function parseBody(bytes: Uint8Array): unknown {
  let text: string
  let body: unknown
  try {
    text = utf8.decode(bytes)
    body = JSON.parse(text)
  } catch {
    throw new RequestError(400, 'the body is not JSON in UTF-8: write an object such as {"reason":"INC-7"}')
  }
  const twice = keyTwice(text)
  if (twice === undefined) return body
  throw new RequestError(400, `the body has the key ${JSON.stringify(twice)} twice: write each key once`)
}

/** Bodies have no objects within, so that each string before a colon is a key of the same one. The text is valid JSON. */
function keyTwice(text: string): string | undefined {
  const keys = new Set<string>()
  for (const [, literal, colon] of text.matchAll(STRINGS)) {
    if (literal === undefined || colon === undefined) continue
    const key = JSON.parse(literal) as string
    if (keys.has(key)) return key
    keys.add(key)
  }
  return undefined
}
