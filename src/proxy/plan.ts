/**
 * What one configuration makes of requests. A new configuration is a new plan: requests that have begun keep the
 * one that they began with, to their end.
 */
import type { Config, Route } from '../config/config.ts'
import type { WriteRule } from '../gate/admission.ts'
import { Router } from '../request/router.ts'
import { ClientTasks } from './client-tasks.ts'
import { RequestHeaders } from './headers.ts'
import type { UpstreamPool, Upstreams } from './upstream.ts'

/** What a route needs at each request, made once. */
export interface RouteTools {
  readonly upstream: UpstreamPool
  readonly headers: RequestHeaders
  readonly rule: WriteRule
  /** The rule of a write whose connection has changed to another protocol. */
  readonly tunnelRule: WriteRule
}

export class Plan {
  readonly config: Config
  readonly router: Router
  readonly clients: ClientTasks
  /** Protocols that some route lets requests upgrade to. */
  readonly allowsUpgrades: boolean
  readonly #tools = new Map<Route, RouteTools>()
  #requests = 0
  #left: (() => void) | undefined

  constructor(config: Config, upstreams: Upstreams) {
    this.config = config
    this.router = new Router(config.routes)
    this.clients = new ClientTasks(config.clients)
    this.allowsUpgrades = config.routes.some(({ upgrades }) => upgrades.length > 0)
    for (const route of config.routes) {
      const { handover, onUnknown, intent, once } = route
      // An attempt's intent goes on record with the attempt, which is known only once its body is.
      const early = intent === 'durable' && !once
      const rule = { handover, holds: onUnknown === 'hold', intent: early, standing: false }
      this.#tools.set(route, {
        upstream: upstreams.of(route.upstream),
        headers: new RequestHeaders(route.upstream, route.forwardClaim, config.claim),
        rule,
        tunnelRule: { ...rule, handover: 'abort', standing: true },
      })
    }
  }

  of(route: Route): RouteTools {
    return this.#tools.get(route) as RouteTools
  }

  get pools(): ReadonlySet<UpstreamPool> {
    return new Set([...this.#tools.values()].map(({ upstream }) => upstream))
  }

  /** A request begins under this plan. */
  enter(): void {
    this.#requests++
  }

  leave(): void {
    if (--this.#requests === 0) this.#left?.()
  }

  /** Calls back once no request is under this plan; none may enter any more. */
  whenLeft(callback: () => void): void {
    this.#left = callback
    if (this.#requests === 0) callback()
  }
}
