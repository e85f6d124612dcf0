/** `GET /v1/journal/stream`. */
import type { FastifyInstance } from 'fastify'
import Type, { type Static } from 'typebox'
import type { JournalStreams } from './journal-stream.ts'
import { RequestError } from './request-error.ts'
import * as s from './schemas.ts'
import { requireRunning, type Sources } from './sources.ts'

const Query = s.object({
  task: s.optional(s.task),
  kind: s.optional(s.kind),
  after: s.optional(s.integer(0, Number.MAX_SAFE_INTEGER)),
})
const Events = {
  description:
    'Events, until either side ends them: `event` is the kind of an entry, `id` its `seq`, `data` the entry.',
  content: { 'text/event-stream': { schema: Type.String() } },
}

export function addStreamRoute(on: FastifyInstance, sources: Sources, streams: JournalStreams): void {
  on.get<{ Querystring: Static<typeof Query> }>(
    '/v1/journal/stream',
    {
      schema: {
        summary: 'The journal as it grows; Last-Event-ID, or `after`, goes on behind that entry',
        tags: ['records'],
        querystring: Query,
        response: { ...s.answers(s.Entry), 200: Events },
      },
    },
    (request, reply) => {
      const { store } = requireRunning(sources)
      const after = lastEventId(request.headers['last-event-id']) ?? request.query.after
      streams.requireRoom()
      reply.hijack()
      const { raw } = reply
      raw.socket?.setTimeout(0)
      raw.writeHead(200, { ...definedHeaders(reply.getHeaders()), 'Content-Type': 'text/event-stream' })
      raw.flushHeaders()
      streams.open(store, { ...request.query, after }, raw, () => request.isRevoked?.() ?? false)
    },
  )
}

function lastEventId(field: string | string[] | undefined): number | undefined {
  if (field === undefined) return undefined
  if (typeof field === 'string' && /^(0|[1-9]\d{0,15})$/.test(field)) {
    const id = Number(field)
    if (id <= Number.MAX_SAFE_INTEGER) return id
  }
  throw new RequestError(
    400,
    'Last-Event-ID is no id of an event: send the `id` of the last one, or leave it out',
  )
}

function definedHeaders(headers: Readonly<Record<string, number | string | string[] | undefined>>) {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
