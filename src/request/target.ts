/**
 * The request target, and the ways in which a resource may read its path.
 *
 * Nothing here parses a URL or changes what is forwarded: a target goes upstream byte for byte or not at
 * all. Readings only serve to refuse a path that another reader would take for another route or task.
 *
 * Invariant: the readings are closed under every step below, in any order and number, so that no chain of
 * readers behind the sidecar, each normalising in its own way, gets to a path that was not looked at.
 */

/** Whether the target is in origin form: a path, perhaps a query, and no fragment. */
export function isOriginForm(target: string): boolean {
  return target.startsWith('/') && !target.includes('#')
}

/** What stands before the query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

const SPECIAL = /[%\\;]|\/[/.]/

/** Whether the path has one reading only: no step below would change it. */
export function isPlain(path: string): boolean {
  return !SPECIAL.test(path)
}

/**
 * Characters of readings that are made for one path, at most. It bounds the time that a hostile path takes;
 * paths that people send have a few readings.
 */
const MAX_CHARACTERS = 65_536

/** Every reading of the path, the raw one first; `undefined` if there are more than can be looked at. */
export function readingsOf(path: string): string[] | undefined {
  const readings = new Set([path])
  let characters = 0
  // The set grows while it is walked: what a step makes is read again by every step.
  for (const reading of readings) {
    characters += reading.length
    if (characters > MAX_CHARACTERS) return undefined
    for (const step of STEPS) readings.add(step(reading))
  }
  return [...readings]
}

/** What readers do to a path. Each returns the path itself if there is nothing for it to do. */
const STEPS: readonly ((path: string) => string)[] = [
  decoded,
  decodedWithinSegments,
  withoutParameters,
  withSlashes,
  withSlashesMerged,
  withoutDotSegments,
  withoutDotSegmentsAndTheirSlash,
  withoutAuthority,
  untilDecodedQuery,
]

const ESCAPE = /%[0-9a-f]{2}/gi

/** One round of percent-decoding, byte for character. What is no escape stays. */
function decoded(path: string): string {
  return path.includes('%') ? path.replace(ESCAPE, byteOf) : path
}

/** The same by readers that split the path first, to whom `%2F` is no slash. */
function decodedWithinSegments(path: string): string {
  return path.includes('%') ? path.replace(ESCAPE, byteUnlessSlash) : path
}

function byteOf(triplet: string): string {
  return String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
}

function byteUnlessSlash(triplet: string): string {
  const byte = byteOf(triplet)
  return byte === '/' ? triplet : byte
}

/** Path parameters, which servlet containers take off each segment before they look at it: `/a;v=1/b` is `/a/b`. */
function withoutParameters(path: string): string {
  return path.includes(';') ? path.replace(/;[^/]*/g, '') : path
}

function withSlashes(path: string): string {
  return path.replaceAll('\\', '/')
}

function withSlashesMerged(path: string): string {
  return path.includes('//') ? path.replace(/\/{2,}/g, '/') : path
}

/** RFC 3986, section 5.2.4. */
function withoutDotSegments(path: string): string {
  if (!path.includes('/.')) return path
  const kept: string[] = []
  const segments = path.split('/')
  const last = segments.length - 1
  for (let i = 1; i <= last; i++) {
    const segment = segments[i] as string
    if (segment !== '.' && segment !== '..') {
      kept.push(segment)
      continue
    }
    if (segment === '..') kept.pop()
    if (i === last) kept.push('')
  }
  return `/${kept.join('/')}`
}

/** The same by file-path libraries, to whom `/a/b/..` is `/a` and not `/a/`. */
function withoutDotSegmentsAndTheirSlash(path: string): string {
  if (!path.endsWith('/.') && !path.endsWith('/..')) return path
  const rest = withoutDotSegments(path)
  return rest.length > 1 ? rest.slice(0, -1) : rest
}

/** URL parsers take `//host/path` for a reference to a path at a host. */
function withoutAuthority(path: string): string {
  if (!path.startsWith('//')) return path
  const rest = path.replace(/^\/{2,}[^/]*/, '')
  return rest === '' ? '/' : rest
}

/** Readers that decode before they look for the query or a fragment find one in `%3F` and `%23`. */
function untilDecodedQuery(path: string): string {
  const end = path.search(/[?#]/)
  return end < 0 ? path : path.slice(0, end)
}
