/** Methods: which are reads, and which others a resource may act on because a header says so. */
import { namesField } from './field-name.ts'

/** Whether the method changes nothing at the resource. Methods are case-sensitive: `get` is not `GET`. */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS'
}

/** A method that the resource may act on instead of the one on the request line. */
export interface OtherMethod {
  readonly method: string
  /** What makes it do so, for a message. */
  readonly cause: string
}

const OVERRIDE_FIELDS = ['x-http-method-override', 'x-http-method', 'x-method-override']
const NONE: readonly OtherMethod[] = []

/**
 * The methods besides the one on the request line: each value of each method-override header, since
 * resources differ in which one they follow, and the request line's own in upper case. Each at most once.
 */
export function otherMethods(method: string, rawHeaders: readonly string[]): readonly OtherMethod[] {
  let others: Map<string, string> | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const field = overrideField(rawHeaders[i] as string)
    if (field === undefined) continue
    others ??= new Map()
    for (const value of (rawHeaders[i + 1] as string).split(',')) {
      others.set(value.trim().toUpperCase(), `the ${field} header`)
    }
  }
  const upper = method.toUpperCase()
  if (upper !== method) others = (others ?? new Map()).set(upper, "the method's spelling")
  if (others === undefined) return NONE
  // An empty override is none, and one that repeats the request line changes nothing.
  others.delete('')
  others.delete(method)
  return Array.from(others, ([other, cause]) => ({ method: other, cause }))
}

function overrideField(name: string): string | undefined {
  // The three fields are 13 characters and longer; most others are ruled out by length alone.
  if (name.length < 13) return undefined
  for (const field of OVERRIDE_FIELDS) if (namesField(name, field)) return field
  return undefined
}
