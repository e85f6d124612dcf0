/**
 * Path templates of routes: literal segments, `{task}` for the one segment that names the task, and a final
 * `*` for the rest.
 */
import { isTask } from '../token.ts'
import type { RouteMatch } from './config.ts'
import { shown, ValueFault } from './faults.ts'

const TASK = '{task}'
const REST = '*'
/** RFC 3986, section 3.3: what a segment may hold, less `%`; and less `*`, which would look like a pattern. */
const LITERAL = /^[A-Za-z0-9._~!$&'()+,;=:@-]*$/

/** Returns the template as written, or throws a {@link ValueFault}. */
export function parsePathTemplate(text: string): string {
  if (!text.startsWith('/')) throw new ValueFault(`${shown(text)} is not a path: begin it with "/"`)
  const segments = segmentsOf(text)
  if (segments.filter((segment) => segment === TASK).length > 1) {
    throw new ValueFault(`${shown(text)} has {task} twice: one segment names the task, write * for the rest`)
  }
  segments.forEach((segment, index) => {
    const fault = segmentFault(segment, index === segments.length - 1)
    if (fault) throw new ValueFault(`${shown(text)} ${fault}`)
  })
  return text
}

function segmentFault(segment: string, last: boolean): string | undefined {
  if (segment === TASK || (segment === REST && last)) return undefined
  if (segment === '' && !last) return 'has an empty segment: write single slashes'
  if (segment === '.' || segment === '..') return `has the segment "${segment}": write the path it leads to`
  if (segment.includes('%')) return 'has a percent sign: write the character itself'
  if (segment.includes('*'))
    return 'has a * that is not its last segment: * alone, at the end, stands for the rest'
  if (/[{}]/.test(segment)) return 'has a brace: {task}, as a whole segment, is the only parameter'
  if (/[?#]/.test(segment)) return 'has a query or a fragment: routes match the path alone, remove it'
  if (!LITERAL.test(segment)) return 'has a character that no path can hold: write visible ASCII'
  return undefined
}

/** Whether `earlier` takes every request that `later` could match, so that `later` never gets one. */
export function covers(earlier: RouteMatch, later: RouteMatch): boolean {
  const methods = later.methods
  const allMethods =
    earlier.methods === undefined || methods?.every((method) => earlier.methods?.includes(method)) === true
  return allMethods && coversPath(earlier.path, later.path)
}

function coversPath(earlier: string | undefined, later: string | undefined): boolean {
  if (earlier === undefined || earlier === '/*' || earlier === later) return true
  if (later === undefined) return false
  const theirs = segmentsOf(later)
  for (const [index, ours] of segmentsOf(earlier).entries()) {
    const theirsHere = theirs[index]
    if (theirsHere === undefined) return false
    if (ours === REST) return true
    if (ours === TASK ? theirsHere === REST || !isTask(theirsHere) : ours !== theirsHere) return false
  }
  return segmentsOf(earlier).length === theirs.length
}

function segmentsOf(path: string): string[] {
  return path.slice(1).split('/')
}
