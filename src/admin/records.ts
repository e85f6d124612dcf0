/**
 * What is on record: unknown outcomes, operations, attempts, the journal. The long ones come in pages: `next` is the
 * `after` of the page that follows, and absent from the last.
 */
import type { FastifyInstance } from 'fastify'
import Type, { type Static, type TSchema } from 'typebox'
import { MAX_TOKEN, parseToken, type Token } from '../token.ts'
import { RequestError } from './request-error.ts'
import * as s from './schemas.ts'
import { shownToken } from './shown.ts'
import { inTime, type Running, requireRunning, type Sources } from './sources.ts'

const MAX_UNKNOWN = 10_000

const task = s.optional(s.task)
const token = s.optional(s.tokenIn)
const operationState = Type.Enum(['open', 'failed', 'unknown', 'done'], {
  description: 'open, failed, unknown or done',
})

const UnknownQuery = s.object({ limit: s.integer(1, MAX_UNKNOWN, 100) })
const OperationsQuery = s.object({ task, state: s.optional(operationState), ...s.atPlace })
const AttemptsQuery = s.object({
  task,
  token,
  operation: s.optional(s.text('the id of an operation', 256)),
  ...s.atPlace,
})
const order = Type.Enum(['oldest', 'newest'], { description: 'oldest or newest', default: 'oldest' })
const JournalQuery = s.object({ task, token, kind: s.optional(s.kind), order, ...s.atPlace })

const write = {
  id: s.text('of the write'),
  token: s.optional(s.tokenOut),
  holder: s.optional(s.text('who held the token')),
  route: s.text('the route'),
  method: s.text('the method'),
  target: s.text('the target'),
}
export const UnknownWrite = s.object({
  ...write,
  task: s.text('the task'),
  operation: s.optional(s.text("the operation's key")),
  holds: s.flag('whether later holders wait for its resolution'),
  admittedAtMs: s.ms('when it was admitted, wall clock'),
  reason: s.text('why its outcome is unknown'),
  bytesSent: s.optional(s.count("bytes of the request's body that left")),
  endedAtMs: s.ms('when it ended, wall clock'),
  resolution: s.optional(s.text('what somebody found out')),
  resolvedBy: s.optional(s.text('who')),
  note: s.optional(s.text('and why')),
  resolvedAtMs: s.optional(s.ms('when, wall clock')),
})
const name = {
  id: s.text('its id'),
  scope: s.text('its scope'),
  task: s.text('its task'),
  key: s.text('its key'),
}
const Operation = s.object({
  ...name,
  seq: s.count('its place'),
  fingerprint: s.text('of its request'),
  state: operationState,
  providerKey: s.text('the key that the provider is told'),
  firstAtMs: s.ms('its first attempt, wall clock'),
  lastAtMs: s.ms('its last attempt, wall clock'),
  keepUntilMs: s.ms('until when it is kept, wall clock'),
  everUnknown: s.flag('whether an attempt of it was ever without a known outcome'),
  status: s.optional(s.count('of its recorded answer')),
  bodyKept: s.optional(s.text('how the body of that is kept')),
})
const Attempt = s.object({
  ...write,
  seq: s.count('its place'),
  operation: s.object(name),
  atMs: s.ms('when it was recorded, wall clock'),
  outcome: s.text('how it ended: answered, not-sent, unknown, or open'),
  status: s.optional(s.count('of its answer')),
  final: s.flag('whether that was final'),
  reason: s.optional(s.text('why its outcome is unknown')),
  endedAtMs: s.optional(s.ms('when, wall clock')),
  resolution: s.optional(s.text('what somebody found out')),
})

const next = s.optional(s.count('`after` of the page that follows'))

export function addRecordRoutes(on: FastifyInstance, sources: Sources): void {
  /** One list: what it is asked, and what each page of it is. */
  const list = <Q extends TSchema>(
    url: string,
    summary: string,
    querystring: Q,
    answer: TSchema,
    read: (store: Running['store'], query: Static<Q>) => Promise<object>,
  ) =>
    on.get<{ Querystring: Static<Q> }>(
      url,
      { schema: { summary, tags: ['records'], querystring, response: s.answers(answer) } },
      ({ query }) => inTime(sources.clock, read(requireRunning(sources).store, query as Static<Q>)),
    )

  list(
    '/v1/unknown',
    'Writes whose outcome nobody knows, oldest first',
    UnknownQuery,
    s.object({ unknown: s.list(UnknownWrite) }),
    async (store, { limit }) => ({ unknown: (await store.unresolved(limit)).map(shownToken) }),
  )
  list(
    '/v1/operations',
    'Operations in the order of their first attempts',
    OperationsQuery,
    s.object({ operations: s.list(Operation), next }),
    async (store, query) => {
      const { rows, next } = await store.operations(query)
      return { operations: rows, next }
    },
  )
  list(
    '/v1/attempts',
    'Attempts of operations in the order in which they were recorded',
    AttemptsQuery,
    s.object({ attempts: s.list(Attempt), next }),
    async (store, { token, ...query }) => {
      const { rows, next } = await store.attempts({ ...query, token: tokenIn(token) })
      return { attempts: rows.map(shownToken), next }
    },
  )
  list(
    '/v1/journal',
    'What happened, oldest first unless it is asked otherwise',
    JournalQuery,
    s.object({ journal: s.list(s.Entry), next }),
    async (store, { token, ...query }) => {
      const wanted = tokenIn(token)
      const { rows, next } = await store.journal(query)
      const entries = wanted === undefined ? rows : rows.filter((entry) => entry.token === wanted)
      return { journal: entries.map(shownToken), next }
    },
  )
}

function tokenIn(text: string | undefined): Token | undefined {
  if (text === undefined) return undefined
  const token = parseToken(text)
  if (token !== undefined) return token
  throw new RequestError(400, `the token must be a decimal integer from 1 to ${MAX_TOKEN}`)
}
