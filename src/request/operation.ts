/**
 * Reads the key of the operation that a request attempts: a structured string (draft-ietf-httpapi-idempotency-key-header,
 * RFC 9651), or the bare key that clients of Stripe send.
 *
 * Invariant: as with the claim, a key is given only if every reader of these headers finds the same one.
 */
import { parseItem } from 'structured-headers'
import type { ClaimConfig } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { type Fault, readField } from './claim-field.ts'
import { excerpt } from './excerpt.ts'
import type { RequestHead } from './route-match.ts'

const MAX_LENGTH = 255

export function readOperation(
  { rawHeaders }: Pick<RequestHead, 'rawHeaders'>,
  { operationHeader }: Pick<ClaimConfig, 'operationHeader'>,
): { key: string } | { refusal: Refusal } {
  const text = readField(rawHeaders, operationHeader)
  if (text === undefined) {
    return refuse(
      'operation-required',
      `This request needs the key of its operation, and the ${operationHeader} header is missing. Give each operation ` +
        'a key of its own, and send the same one with each attempt.',
    )
  }
  const key = typeof text === 'string' ? parseKey(text, operationHeader) : text
  return typeof key === 'string' ? { key } : refuse('malformed-operation', key.fault)
}

function refuse(code: Refusal['code'], cause: string): { refusal: Refusal } {
  return { refusal: { code, detail: `${cause} Nothing was sent.` } }
}

function parseKey(text: string, header: string): string | Fault {
  const key = text.startsWith('"') ? stringIn(text) : bareKey(text)
  if (key === undefined) {
    return {
      fault:
        `The ${header} header is ${excerpt(text)}. Send one key: a string in double quotes, in which \\ stands before ` +
        'each " and \\, without parameters; or, without quotes, visible ASCII but for ", comma and semicolon.',
    }
  }
  if (key.length >= 1 && key.length <= MAX_LENGTH) return key
  return { fault: `The ${header} header holds a key of ${key.length} characters. Send 1 to ${MAX_LENGTH}.` }
}

function stringIn(text: string): string | undefined {
  try {
    const [value, parameters] = parseItem(text)
    return typeof value === 'string' && parameters.size === 0 ? value : undefined
  } catch {
    return undefined
  }
}

/** A comma would join two keys, a semicolon begin a parameter, for whoever reads the field as a structured one. */
function bareKey(text: string): string | undefined {
  return /^[\x21-\x7e]*$/.test(text) && !/[",;]/.test(text) ? text : undefined
}
