/**
 * The other target of a COPY or MOVE (RFC 4918, section 10.3): it is written too, so it must be of the same route and
 * task as the request's own.
 */
import { namesField } from './field-name.ts'

/** The paths that `Destination` fields name; `undefined` stands for one that can't be read. */
export function destinationPaths(rawHeaders: readonly string[]): (string | undefined)[] {
  const paths: (string | undefined)[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (namesField(rawHeaders[i] as string, 'destination')) paths.push(pathIn(rawHeaders[i + 1] as string))
  }
  return paths
}

/** An absolute URI or a path, each perhaps with a query. What is in it is as written: readings are the router's. */
function pathIn(destination: string): string | undefined {
  const [, path] = /^(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*)?(\/[^?#]*)/.exec(destination.trim()) ?? []
  return path
}
