/**
 * What is on record, on the control port: unknown outcomes, operations, attempts, the journal. The long ones come in
 * pages: `next` is the `after` of the page that follows, and absent from the last.
 *
 * Tokens are JSON strings: a JSON number past 2^53 would be rounded by most readers.
 */
import type { FastifyInstance } from 'fastify'
import Type, { type Static, type TProperties } from 'typebox'
import type { MarkStore } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import { integerOf, taskOf, tokenOf } from './parameters.ts'

const MAX_UNKNOWN = 10_000
const MAX_PAGE = 1000

const limit = Type.String({ default: '100' })
const Unknown = Type.Object({ limit }, { additionalProperties: false })
const paged = <P extends TProperties>(filters: P) =>
  Type.Object({ ...filters, limit, after: Type.String({ default: '0' }) }, { additionalProperties: false })
const Operations = paged({
  task: Type.Optional(Type.String()),
  state: Type.Optional(Type.Enum(['open', 'failed', 'unknown', 'done'])),
})
const Attempts = paged({
  task: Type.Optional(Type.String()),
  token: Type.Optional(Type.String()),
  operation: Type.Optional(Type.String()),
})
const Journal = paged({ task: Type.Optional(Type.String()), token: Type.Optional(Type.String()) })

export function addRecordRoutes(on: FastifyInstance, store: MarkStore): void {
  on.get<{ Querystring: Static<typeof Unknown> }>(
    '/v1/unknown',
    { schema: { querystring: Unknown } },
    async ({ query }) => ({
      unknown: (await store.unresolved(integerOf('limit', query.limit, 1, MAX_UNKNOWN))).map(shownToken),
    }),
  )
  on.get<{ Querystring: Static<typeof Operations> }>(
    '/v1/operations',
    { schema: { querystring: Operations } },
    async ({ query }) => {
      const { rows, next } = await store.operations({ ...place(query), ...task(query), state: query.state })
      return { operations: rows, next }
    },
  )
  on.get<{ Querystring: Static<typeof Attempts> }>(
    '/v1/attempts',
    { schema: { querystring: Attempts } },
    async ({ query }) => {
      const { operation } = query
      const { rows, next } = await store.attempts({
        ...place(query),
        ...task(query),
        token: token(query),
        operation,
      })
      return { attempts: rows.map(shownToken), next }
    },
  )
  on.get<{ Querystring: Static<typeof Journal> }>(
    '/v1/journal',
    { schema: { querystring: Journal } },
    async ({ query }) => {
      const wanted = token(query)
      const { rows, next } = await store.journal({ ...place(query), ...task(query) })
      const entries = wanted === undefined ? rows : rows.filter((entry) => entry.token === wanted)
      return { journal: entries.map(shownToken), next }
    },
  )
}

function place(query: { limit: string; after: string }): { limit: number; after: number } {
  return {
    limit: integerOf('limit', query.limit, 1, MAX_PAGE),
    after: integerOf('place after which to go on', query.after, 0, Number.MAX_SAFE_INTEGER),
  }
}

function task(query: { task?: string }): { task: string | undefined } {
  return { task: query.task === undefined ? undefined : taskOf(query.task) }
}

function token(query: { token?: string }): Token | undefined {
  return query.token === undefined ? undefined : tokenOf(query.token)
}

export function shownToken<T extends { readonly token: Token | undefined }>(row: T) {
  return { ...row, token: row.token?.toString() }
}
