/** What is fenced and what is not, in words: for the start-up line and for `check-config`. */
import type { ClaimConfig, Config, Route } from './config.ts'
import { covers } from './path-template.ts'

/** One line a route, in the order in which they are tried. */
export function describeRoutes({ routes, claim }: Config): string[] {
  return routes.map((route, index) => {
    const cover = routes.slice(0, index).find((earlier) => covers(earlier.match, route.match))
    if (cover) return `${route.name}: never reached, ${cover.name} takes every request`
    return `${route.name}: ${scope(route)} to ${route.upstream.origin}: ${treatment(route, claim)}`
  })
}

function scope({ match: { methods, path } }: Route): string {
  if (!methods && !path) return 'every other request'
  return `${methods ? methods.join(', ') : 'every method'} on ${path ?? 'every path'}`
}

function treatment(route: Route, claim: ClaimConfig): string {
  if (route.guard === 'none') return 'not fenced, needs no token'
  // Naming a method fences it; where none is named, what only reads passes.
  const reads = route.match.methods ? '' : ' (GET, HEAD and OPTIONS need no token)'
  const task = route.match.path?.includes('{task}')
    ? 'the task is in the path'
    : `the task is in ${claim.taskHeader}`
  const how =
    route.mode === 'observe'
      ? `not fenced, only observed${reads}: what would be refused is forwarded and counted`
      : `fenced${reads}`
  return `${how}; ${task}, the token in ${claim.tokenHeader}`
}
