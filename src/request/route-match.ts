/** What `request/` makes of a request's head, before anybody asks the gate. */
import type { Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'

/** The parts of a request's head that routing and the claim look at. */
export interface RequestHead {
  readonly method: string
  /** The request target as received. */
  readonly target: string
  /** Names and values in turn, as received: case, order and duplicates. */
  readonly rawHeaders: readonly string[]
  /** The protocols that it offers to change the connection to; none where left out. */
  readonly upgrades?: readonly string[]
}

export interface RouteMatched {
  readonly route: Route
  /** Whether the request needs a permit. */
  readonly fenced: boolean
  /**
   * What stands for `{task}` in the path, on a route whose path holds it. Every reading of the target names
   * the same; whether it can be a task's name is for `readClaim` to say, since a read needs none.
   */
  readonly task: string | undefined
}

export type RouteResult = RouteMatched | { readonly refusal: Refusal }
