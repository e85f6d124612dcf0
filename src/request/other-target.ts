/**
 * Targets that a request names besides the one on its request line: where a COPY or MOVE goes (RFC 4918, section
 * 10.3), and where some servers are told to look instead. What is written there must be of the same route and task.
 */
import { namesField } from './field-name.ts'

const FIELDS = ['destination', 'x-original-url', 'x-rewrite-url']

/** The paths that such fields name; `undefined` stands for one that can't be read. */
export function otherPaths(rawHeaders: readonly string[]): (string | undefined)[] {
  const paths: (string | undefined)[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    // The shortest of them has 11 characters; most fields are ruled out by their length alone.
    if (name.length < 11 || !FIELDS.some((field) => namesField(name, field))) continue
    paths.push(pathIn(rawHeaders[i + 1] as string))
  }
  return paths
}

/** An absolute URI or a path, each perhaps with a query. What is in it is as written: readings are the router's. */
function pathIn(target: string): string | undefined {
  const [, path] = /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*)?(\/[^?#]*)/.exec(target.trim()) ?? []
  return path
}
