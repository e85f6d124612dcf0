/**
 * Reads one field of the claim from the headers as received.
 *
 * Invariant: a value is given only if every reader of these headers finds the same one. Repeated and look-alike
 * fields are refused, equal values or not, because the resource or a hop before it may pick another one; so are
 * fields that a hop would drop on the way (named by `Connection`) or take from the trailer (named by `Trailer`).
 */
import { excerpt } from './excerpt.ts'
import { namesField } from './field-name.ts'

/** Cause and remedy: why there is something, but not a value to go by. */
export interface Fault {
  readonly fault: string
}

/** The field's only value; `undefined` if it is not there. `field` is in lower case. */
export function readField(rawHeaders: readonly string[], field: string): string | Fault | undefined {
  let found: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const value = rawHeaders[i + 1] as string
    if (namesField(name, field)) {
      if (name.toLowerCase() !== field) {
        return { fault: `The header ${excerpt(name)} can be taken for ${field}. Send ${field} alone.` }
      }
      if (found !== undefined) {
        return { fault: `The ${field} header is there more than once. Send it exactly once.` }
      }
      found = value
    } else if (value.length >= field.length && listsFields(name) && lists(value, field)) {
      return {
        fault:
          `The ${name.toLowerCase()} header names ${field}. The claim must be a header of its own that no ` +
          'hop drops: take it off that list.',
      }
    }
  }
  return found
}

/** Whether the header says of other fields that they are dropped by the next hop, or sent in the trailer. */
function listsFields(name: string): boolean {
  return namesField(name, 'connection') || namesField(name, 'trailer')
}

function lists(value: string, field: string): boolean {
  return value.split(',').some((member) => namesField(member.trim(), field))
}
