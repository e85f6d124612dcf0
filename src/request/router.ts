/**
 * Finds the route of a request, and whether it needs a permit.
 *
 * Invariant: a request that gets a route gets the same route and the same task in every reading: each way to
 * normalise its path, with each method that it may be taken to have. If they differ it is refused, because
 * nobody knows which one the resource would act on.
 */
import type { Route } from '../config/config.ts'
import { InvariantError, type Refusal } from '../errors.ts'
import { isRead, type OtherMethod, otherMethods } from './method.ts'
import { otherPaths } from './other-target.ts'
import { PathTemplate } from './path-template.ts'
import {
  ambiguousMethod,
  ambiguousPath,
  foreignTarget,
  NOT_ORIGIN_FORM,
  OTHER_TARGET_UNREADABLE,
  type Reading,
  TOO_MANY_METHODS,
  TOO_MANY_READINGS,
} from './refusals.ts'
import type { RequestHead, RouteMatched, RouteResult } from './route-match.ts'
import { isOriginForm, isPlain, pathOf, readingsOf } from './target.ts'

/** Bounds the time that a hostile head takes; an honest request overrides its method once. */
const MAX_OTHER_METHODS = 8

export class Router {
  readonly #matchers: readonly RouteMatcher[]
  /** Whether any route looks at the path: if none does, no path is ambiguous. */
  readonly #readsPaths: boolean

  /** Takes the routes in order; the last one must match every request. */
  constructor(routes: readonly Route[]) {
    const last = routes.at(-1)
    if (!last || last.match.methods !== undefined || last.match.path !== undefined) {
      throw new InvariantError('the last route does not match every request')
    }
    this.#matchers = routes.map((route) => new RouteMatcher(route))
    this.#readsPaths = routes.some((route) => route.match.path !== undefined)
  }

  match({ method, target, rawHeaders, upgrades = [] }: RequestHead): RouteResult {
    if (!isOriginForm(target)) return { refusal: NOT_ORIGIN_FORM }
    const path = pathOf(target)
    const others = otherMethods(method, rawHeaders)
    const found = this.#find(method, path)
    if (others.length > 0 || (this.#readsPaths && !isPlain(path))) {
      const refusal = this.#ambiguity(found, method, others, path)
      if (refusal) return { refusal }
    }
    if (this.#readsPaths) {
      const methods = [method, ...others.map((other) => other.method)]
      const refusal = this.#foreignTarget(found, methods, path, rawHeaders)
      if (refusal) return { refusal }
    }
    // Whatever it began as, a connection that changes to another protocol can carry writes.
    const reads = upgrades.length === 0 && isRead(method) && others.every((other) => isRead(other.method))
    return found.result(reads, path)
  }

  #find(method: string, path: string): RouteMatcher {
    for (const matcher of this.#matchers) if (matcher.matches(method, path)) return matcher
    throw new InvariantError('a request matches no route')
  }

  /** The first of the paths that is, with this method, another route's or another task's. */
  #differing(own: Reading, method: string, paths: readonly string[]): Reading | undefined {
    for (const path of paths) {
      const other = this.#find(method, path).reading(path)
      if (other.route !== own.route || other.task !== own.task) return other
    }
    return undefined
  }

  /** Why the request writes to where its own target does not lead, or `undefined` if it doesn't. */
  #foreignTarget(
    found: RouteMatcher,
    methods: readonly string[],
    path: string,
    rawHeaders: readonly string[],
  ): Refusal | undefined {
    const own = found.reading(path)
    for (const target of otherPaths(rawHeaders)) {
      if (target === undefined) return OTHER_TARGET_UNREADABLE
      const readings = readingsOf(target)
      if (!readings) return TOO_MANY_READINGS
      for (const method of methods) {
        const other = this.#differing(own, method, readings)
        if (other) return foreignTarget(own, other)
      }
    }
    return undefined
  }

  /** Why the request is not what it seems, or `undefined` if every reading agrees with `found`. */
  #ambiguity(
    found: RouteMatcher,
    method: string,
    others: readonly OtherMethod[],
    path: string,
  ): Refusal | undefined {
    if (others.length > MAX_OTHER_METHODS) return TOO_MANY_METHODS
    const paths = this.#readsPaths ? readingsOf(path) : [path]
    if (!paths) return TOO_MANY_READINGS
    const own = found.reading(path)
    const byPath = this.#differing(own, method, paths)
    if (byPath) return ambiguousPath(own, byPath)
    for (const other of others) {
      const byMethod = this.#differing(own, other.method, paths)
      if (byMethod) return ambiguousMethod(own, byMethod, other.cause)
    }
    return undefined
  }
}

/** One route, ready to be compared. */
class RouteMatcher {
  readonly #route: Route
  readonly #template: PathTemplate | undefined
  readonly #methods: readonly string[] | undefined
  /** The answers of a route whose path names no task, made once. */
  readonly #fenced: RouteMatched
  readonly #open: RouteMatched

  constructor(route: Route) {
    this.#route = route
    this.#template = route.match.path === undefined ? undefined : new PathTemplate(route.match.path)
    this.#methods = route.match.methods
    this.#fenced = Object.freeze({ route, fenced: true, task: undefined })
    this.#open = Object.freeze({ route, fenced: false, task: undefined })
  }

  matches(method: string, path: string): boolean {
    if (this.#methods !== undefined && !this.#methods.includes(method)) return false
    return this.#template === undefined || this.#template.matches(path)
  }

  reading(path: string): Reading {
    return { route: this.#route, task: this.#template?.taskIn(path) }
  }

  /** The answer for a request that matches, on `path`; `reads`: whether every method it may have is a read. */
  result(reads: boolean, path: string): RouteMatched {
    // A route that lists its methods means each of them, reads too.
    const fenced = this.#route.guard !== 'none' && (this.#methods !== undefined || !reads)
    const task = this.#template?.taskIn(path)
    if (task === undefined) return fenced ? this.#fenced : this.#open
    return { route: this.#route, fenced, task }
  }
}
