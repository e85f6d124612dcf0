/** `/livez` (the process answers), `/readyz` (the store is open and writes are served) and `/metrics`. */
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import * as s from './schemas.ts'
import type { Sources } from './sources.ts'
import { upstreams } from './state.ts'

/** What is served whoever asks. */
export const HEALTH_ROUTES: ReadonlySet<string | undefined> = new Set(['/livez', '/readyz', '/metrics'])

const Ready = s.object({
  status: s.text('ready, or the phase'),
  phase: s.text('starting, serving or stopping'),
  grace: s.flag('whether an unclean stop is still being waited out'),
  store: s.optional(
    s.object({
      tasks: s.count('tasks with a mark of their own'),
      commitSequence: s.count('rises with each commit'),
      unresolved: s.count('unknown outcomes that nobody has resolved'),
      frozen: s.count('frozen tasks'),
    }),
  ),
  upstreams,
})

export function addHealth(on: FastifyInstance, sources: Sources): void {
  const schema = (summary: string, response: Record<number, object>) => ({
    summary,
    tags: ['health'],
    response,
  })
  const described = (description: string, answer: object) => ({ ...answer, description })
  on.get(
    '/livez',
    {
      exposeHeadRoute: true,
      schema: schema('Whether the process answers', {
        200: described('It does.', s.object({ status: s.text('alive') })),
      }),
    },
    async () => ({ status: 'alive' }),
  )
  on.get(
    '/readyz',
    {
      exposeHeadRoute: true,
      schema: schema('Whether writes are served', {
        200: described('They are.', Ready),
        503: described('They are not, yet or any more.', Ready),
      }),
    },
    async (_request, reply) => {
      const phase = sources.phase()
      const ready = phase === 'serving'
      return reply.code(ready ? 200 : 503).send({
        status: ready ? 'ready' : phase,
        phase,
        grace: sources.grace(),
        store: sources.running()?.store.counts(),
        upstreams: sources.upstreams(),
      })
    },
  )
  const text = {
    description: 'In the format that Accept asks for.',
    content: { 'text/plain': { schema: Type.String() } },
  }
  on.get(
    '/metrics',
    { exposeHeadRoute: true, schema: schema('Metrics for Prometheus', { 200: text }) },
    async ({ headers }, reply) => {
      const { contentType, body } = await sources.metrics.scrape(headers.accept)
      return reply.type(contentType).send(body)
    },
  )
}
