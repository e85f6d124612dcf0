/** How the sidecar is: its status at a glance, its configuration, its store. */
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { version } from '../version.ts'
import { shownConfig } from './config-view.ts'
import * as s from './schemas.ts'
import { inTime, requireRunning, type Sources } from './sources.ts'

const phase = Type.Enum(['starting', 'serving', 'stopping'], { description: 'starting, serving or stopping' })
const tasks = s.count('tasks with a mark of their own')
const frozen = s.count('frozen tasks')
const unresolved = s.count('unknown outcomes that nobody has resolved')
const commitSequence = s.count('rises with each commit')
export const upstreams = s.list(s.object({ origin: s.text('its origin'), state: s.text('its state') }))

const Status = s.object({
  version: s.text('of fencegate'),
  phase,
  grace: s.flag('whether an unclean stop is still being waited out'),
  startedAtMs: s.ms('when the process started, wall clock'),
  nowMs: s.ms('wall clock'),
  openWrites: s.count('open writes'),
  oldestOpenWriteMs: s.optional(s.ms('for how long the oldest one has been open')),
  handoversPending: s.count('tasks whose new holder waits'),
  ...{ tasks, frozen, unresolved, commitSequence },
  streams: s.count('readers of the journal stream'),
  decisions: s.list(
    s.object({
      route: s.text('the route'),
      decision: s.text('the decision'),
      count: s.count('since the start'),
    }),
  ),
  staleRejections: s.count('writes rejected as stale since the start'),
  raises: s.count('marks raised since the start'),
  commits: s.object({ count: s.count('commits of marks'), sumMs: s.ms('how long they took together') }),
  upstreams,
})
const Configuration = s.object({
  file: s.optional(s.text('its path')),
  config: s.open('every setting; a secret is "(set)"'),
  warnings: s.list(s.text('what is valid but probably not meant')),
  lastReload: s.optional(
    s.object({
      atMs: s.ms('when, wall clock'),
      cause: s.text('why'),
      result: s.text('applied, unchanged or refused'),
      message: s.optional(s.text('why it was refused')),
    }),
  ),
})
const Store = s.object({
  path: s.text('its directory'),
  schema: s.count('its version'),
  createdAtMs: s.ms('wall clock'),
  created: s.flag('whether this start made it'),
  unclean: s.flag('whether the stop before this start was unclean'),
  ...{ tasks, frozen, unresolved, commitSequence },
  bytes: s.count('size of the database'),
  walBytes: s.count('size of its log'),
  freeBytes: s.count('free on their disk'),
  floor: s.tokenOut,
  floors: s.list(s.object({ prefix: s.text('of task names'), floor: s.tokenOut })),
})

export function addStateRoutes(on: FastifyInstance, sources: Sources, streams: () => number): void {
  const schema = (summary: string, answer: object) => ({
    schema: { summary, tags: ['state'], querystring: s.object({}), response: s.answers(answer) },
  })
  on.get('/v1/status', schema('The sidecar at a glance; counters are since its start', Status), async () => {
    const { store, view } = sources.running() ?? {}
    const { lastEntry: _, ...counts } = store?.counts() ?? NO_COUNTS
    const ages = (view?.busy() ?? []).flatMap(({ openWrites, oldestOpenWriteMs }) => ({
      openWrites,
      oldestOpenWriteMs,
    }))
    const oldest = Math.max(...ages.map(({ oldestOpenWriteMs = 0 }) => oldestOpenWriteMs))
    const openWrites = ages.reduce((sum, each) => sum + each.openWrites, 0)
    return {
      version,
      phase: sources.phase(),
      grace: sources.grace(),
      startedAtMs: sources.startedAtMs,
      nowMs: Date.now(),
      openWrites,
      oldestOpenWriteMs: openWrites === 0 ? undefined : Math.round(oldest),
      handoversPending: view?.handoversPending ?? 0,
      ...counts,
      streams: streams(),
      ...sources.metrics.snapshot(),
      upstreams: sources.upstreams(),
    }
  })
  on.get('/v1/config', schema('The configuration in force', Configuration), async () => {
    const { file, config, warnings, lastReload } = sources.configuration()
    return { file, config: shownConfig(config), warnings, lastReload }
  })
  on.get('/v1/store', schema('The store', Store), async () => {
    const { store } = requireRunning(sources)
    const { floor, floors, ...state } = await inTime(sources.clock, store.state())
    const { createdAtMs, created, unclean } = store.origin
    const { lastEntry: _, ...counts } = store.counts()
    return {
      path: sources.configuration().config.store.path,
      ...{ createdAtMs, created, unclean },
      ...counts,
      ...state,
      floor: floor.toString(),
      floors: floors.map(({ prefix, floor }) => ({ prefix, floor: floor.toString() })),
    }
  })
}

const NO_COUNTS = { tasks: 0, frozen: 0, unresolved: 0, commitSequence: 0, lastEntry: 0 }
