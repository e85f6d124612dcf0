/** JSON pointers (RFC 6901) in the configuration: what is taken out of a body before it is kept. */
import { shown, ValueFault } from './faults.ts'

/** Returns the pointer as written, or throws a {@link ValueFault}. */
export function parsePointer(text: string): string {
  if (text === '') throw new ValueFault('"" is the whole body: write keepBody: 0B to keep none')
  if (!text.startsWith('/')) {
    throw new ValueFault(`${shown(text)} is not a JSON pointer: begin it with "/", such as /card/number`)
  }
  if (!/~(?![01])/.test(text)) return text
  throw new ValueFault(`${shown(text)} has a "~" that escapes nothing: write ~0 for "~" and ~1 for "/"`)
}
