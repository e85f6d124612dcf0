/**
 * The sidecar's configuration under torture, and how long anything may take. One relation matters: restartGrace
 * must outlast the resource's longest work, or P2 isn't promised after a kill.
 */
import type { RouteFacts } from '../support/history.ts'

/** The longest that the resource works on a request, once it has it. */
export const LONGEST_WORK_MS = 400
/** The longest for which a process is stopped, or a path cut. */
export const LONGEST_STALL_MS = 900
const RESTART_GRACE_MS = 2600

/** A write's bytes may wait out a cut path and then a stopped resource before its work begins. */
if (LONGEST_WORK_MS + 2 * LONGEST_STALL_MS >= RESTART_GRACE_MS) {
  throw new Error('restartGrace does not outlast the longest work of the resource')
}

export const UNKNOWN_STATUSES = [502, 504]
export const CLIENT_TIMEOUT_MS = 2500
/** Statuses of the resource's own that are answers. */
export const OWN_STATUSES = [200, 201, 409, 412, 500]

/**
 * `mixed`: some routes without intents, so that each unclean stop is followed by a grace. `intents`: each route
 * has them, so that there is none.
 */
export type Variant = 'mixed' | 'intents'

interface TortureRoute {
  readonly name: string
  readonly handover: 'drain' | 'abort'
  readonly onUnknown: 'proceed' | 'hold'
  readonly intent: 'none' | 'durable'
  readonly guard?: 'once'
}

const ROUTES: readonly TortureRoute[] = [
  { name: 'drain', handover: 'drain', onUnknown: 'proceed', intent: 'none' },
  { name: 'abort', handover: 'abort', onUnknown: 'proceed', intent: 'none' },
  { name: 'hold', handover: 'drain', onUnknown: 'hold', intent: 'durable' },
  // Each request is an operation of its own: the promises hold as on the others.
  { name: 'once', handover: 'drain', onUnknown: 'hold', intent: 'durable', guard: 'once' },
]

/** The tasks, and on which routes each is written; a task's first route is the most used. */
export const TASKS: Readonly<Record<string, readonly string[]>> = {
  orders: ['drain', 'abort'],
  prices: ['drain'],
  stock: ['abort', 'drain'],
  payouts: ['hold', 'drain'],
  ledger: ['abort'],
  audit: ['drain', 'hold'],
  charges: ['once', 'abort'],
}

export interface Settings {
  readonly config: object
  readonly routes: Readonly<Record<string, RouteFacts>>
  /** 0 where it is waived. */
  readonly graceMs: number
}

export function settingsFor(variant: Variant, upstreamPort: number, data: string): Settings {
  const all = variant === 'intents'
  const routes = ROUTES.map((route) => ({ ...route, intent: all ? ('durable' as const) : route.intent }))
  const config = {
    listen: '127.0.0.1:0',
    admin: { listen: '127.0.0.1:0' },
    upstream: {
      url: `http://127.0.0.1:${upstreamPort}`,
      connections: 8,
      connectTimeout: '600ms',
      headersTimeout: '1s',
      bodyTimeout: '1s',
    },
    store: { path: data, timeout: '1s' },
    handoverTimeout: '800ms',
    drainLimit: '1200ms',
    restartGrace: `${RESTART_GRACE_MS}ms`,
    shutdown: { delay: '0s', deadline: '600ms' },
    routes: [
      ...routes.map(({ name, ...rule }) => ({
        name,
        match: { path: `/${name}/*` },
        ...rule,
        unknownStatuses: UNKNOWN_STATUSES,
      })),
      // Announcements send nothing; no write takes this route, but without it grace could not be waived.
      ...(all ? [{ name: 'rest', intent: 'durable' }] : []),
    ],
  }
  return {
    config,
    routes: Object.fromEntries(
      routes.map(({ name, intent, guard }) => [
        name,
        { intent: intent === 'durable', once: guard === 'once' },
      ]),
    ),
    graceMs: all ? 0 : RESTART_GRACE_MS,
  }
}
