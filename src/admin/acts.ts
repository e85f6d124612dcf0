/**
 * Operators' acts. Each has an author and a reason, and is on record before it is answered.
 *
 * Invariants: no act begins once the sidecar is stopping, and the store stays open for those that have begun; the author
 * is who the listener says, never another's word.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Type, { type Static, type TProperties } from 'typebox'
import type { Author } from '../journal/records.ts'
import { MAX_TOKEN, parseToken, type Token } from '../token.ts'
import { UnknownWrite } from './records.ts'
import { RequestError, unavailable } from './request-error.ts'
import * as s from './schemas.ts'
import { shownResult, shownToken } from './shown.ts'
import { type Running, requireRunning, type Sources } from './sources.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the bearer token that came with the request. */
    tokenName: string | undefined
  }
}

/** Where an act's author stands: in the body on the socket, whose callers are all the sidecar's user. */
export type AuthorIn = 'body' | 'token'

/** Acts under way, on either listener. */
export class ActsUnderWay {
  readonly #sources: Sources
  readonly #acts = new Set<Promise<unknown>>()

  constructor(sources: Sources) {
    this.#sources = sources
  }

  async run<T>(act: (running: Running) => Promise<T>): Promise<T> {
    const running = requireRunning(this.#sources)
    if (this.#sources.phase() !== 'serving') {
      throw unavailable('the sidecar is starting or stopping, and nothing was changed: ask again shortly')
    }
    const done = act(running)
    this.#acts.add(done)
    try {
      return await done
    } finally {
      this.#acts.delete(done)
    }
  }

  get size(): number {
    return this.#acts.size
  }
}

const Result = s.object({
  task: s.text('its name'),
  mark: s.tokenOut,
  frozen: s.flag('whether all of its writes are refused'),
  passes: s.tokenOut,
  open: s.list(s.OpenWrite),
})
/** The first step of a reset tells what the second needs; the second, what an act on a task does. */
const ResetResult = s.object({
  task: s.text('its name'),
  mark: s.tokenOut,
  to: s.optional(s.tokenOut),
  confirm: s.optional(s.text('the code for the second step')),
  expiresInMs: s.optional(s.ms('for how long the code holds')),
  warning: s.optional(s.text('what the second step does')),
  frozen: s.optional(s.flag('whether all of its writes are refused')),
  passes: s.optional(s.tokenOut),
  open: s.optional(s.list(s.OpenWrite)),
})
const Retired = s.object({
  prefix: s.text('of the tasks'),
  floor: s.tokenOut,
  retired: s.count('marks that are forgotten'),
})
const Backup = s.object({
  file: s.text('its path'),
  bytes: s.count('its size'),
  commitSequence: s.count('of the last commit in it'),
  ms: s.ms('how long it took'),
})
const IdParams = s.object({ id: s.text('the id of an unknown write, as /v1/unknown lists it', 256) })

const author = {
  body: { by: s.text('who, 1 to 256 characters', 256) },
  token: {},
} as const
const authored = <P extends TProperties>(where: AuthorIn, properties: P) =>
  s.object({
    ...properties,
    reason: s.text('why, 1 to 4096 characters', 4096),
    ...(author[where] as TProperties),
  })

interface Authored {
  readonly reason: string
  readonly by?: string
}

const LEAST_IDLE_MS = 3_600_000

export function addActRoutes(on: FastifyInstance, acts: ActsUnderWay, where: AuthorIn): void {
  const security = where === 'token' ? [{ token: [] }] : undefined
  const route = (summary: string, properties: TProperties, answer: object, ...statuses: number[]) => ({
    summary,
    tags: ['acts'],
    ...(security && { security }),
    body: authored(where, properties),
    response: s.answers(answer, 404, 409, 413, 415, ...statuses),
  })
  const onTask = <B extends object>(
    act: string,
    summary: string,
    properties: TProperties,
    run: (
      operator: Running['operator'],
      task: string,
      author: Author,
      body: B,
      running: Running,
    ) => Promise<object>,
    answer: object = Result,
  ) =>
    on.post<{ Params: { task: string } }>(
      `/v1/tasks/:task/${act}`,
      { preHandler: mayTakeLong, schema: { ...route(summary, properties, answer), params: s.TaskParams } },
      ({ params, body, tokenName }) => {
        // The schema has checked it.
        const checked = body as Authored & B
        return acts.run((running) =>
          run(running.operator, params.task, authorOf({ body: checked, tokenName }), checked, running),
        )
      },
    )
  const { tokenIn: token } = s

  onTask('freeze', 'Refuse all writes of a task until it is thawed', {}, async (operator, task, author) =>
    shownResult(task, await operator.freeze(task, author)),
  )
  onTask<{ token?: string }>(
    'thaw',
    'Let writes of a task through again; with a token, that of the elected holder, raise to it',
    { token: s.optional(token) },
    async (operator, task, author, body) => {
      const elected = body.token === undefined ? undefined : tokenOf(body.token)
      return shownResult(task, await operator.thaw(task, author, elected))
    },
  )
  onTask<{ token: string }>(
    'raise',
    'Raise the mark of a task',
    { token },
    async (operator, task, author, body) =>
      shownResult(task, await operator.raise(task, author, tokenOf(body.token))),
  )
  onTask<{ token: string }>(
    'fence',
    'Freeze a task and raise its mark by one past this token, its mark as the caller knows it',
    { token },
    async (operator, task, author, body) =>
      shownResult(task, await operator.fence(task, author, tokenOf(body.token))),
  )
  onTask(
    'erase',
    "Take the recorded answers' bodies of a task's operations off the disk",
    {},
    async (operator, task, author, _body, { store }) => {
      await expectOperations(store, task)
      return shownResult(task, await operator.erase(task, author))
    },
  )
  onTask<{ to: string; confirm?: string }>(
    'reset',
    'Set a poisoned mark lower, in two steps: the first, without `confirm`, gives the code for the second',
    { to: token, confirm: s.optional(s.text('the code that the first step gave', 64)) },
    async (operator, task, author, { to: text, confirm }) => {
      const to = tokenOf(text)
      if (confirm !== undefined) return shownResult(task, await operator.reset(task, to, confirm, author))
      const asked = await operator.askReset(task, to)
      return { ...asked, mark: asked.mark.toString(), to: asked.to.toString(), warning: warningOf(asked) }
    },
    ResetResult,
  )
  addOtherActs(on, acts, where, route)
}

function addOtherActs(
  on: FastifyInstance,
  acts: ActsUnderWay,
  where: AuthorIn,
  route: (summary: string, properties: TProperties, answer: object, ...statuses: number[]) => object,
): void {
  const resolution = Type.Enum(['applied', 'not-applied', 'compensated'], {
    description: 'applied, not-applied or compensated',
  })
  on.post<{ Params: { id: string }; Body: Authored & { resolution: Static<typeof resolution> } }>(
    '/v1/unknown/:id/resolve',
    {
      schema: {
        ...route('Say what became of an unknown write', { resolution }, UnknownWrite),
        params: IdParams,
      },
    },
    (request) =>
      acts.run(async ({ operator, store }) => {
        const { id } = request.params
        if (!(await store.unknownWrite(id))) {
          throw new RequestError(404, `there is no record ${id} of an unknown write: /v1/unknown lists them`)
        }
        return shownToken(await operator.resolve(id, request.body.resolution, authorOf(request)))
      }),
  )
  const retire = {
    prefix: Type.String({
      pattern: '^[!-~]{0,256}$',
      description: 'the prefix of task names; "" is every task',
    }),
    idleMs: s.integer(LEAST_IDLE_MS, Number.MAX_SAFE_INTEGER),
    floor: s.tokenIn,
  }
  on.post<{ Body: Authored & { prefix: string; idleMs: number; floor: string } }>(
    '/v1/retire',
    { preHandler: mayTakeLong, schema: route('Make idle marks one floor for their prefix', retire, Retired) },
    (request) =>
      acts.run(async ({ operator }) => {
        const { prefix, idleMs, floor } = request.body
        const asked = { prefix, idleMs, floor: tokenOf(floor) }
        const retired = await operator.retire(asked, authorOf(request))
        return { ...retired, floor: retired.floor.toString() }
      }),
  )
  const file = Type.String({ pattern: '^/', maxLength: 4096, description: 'an absolute path of a new file' })
  on.post<{ Body: Authored & { file: string } }>(
    '/v1/backup',
    {
      preHandler: mayTakeLong,
      schema: route('Write all that is on record to a new file, over the socket only', { file }, Backup),
    },
    (request) =>
      acts.run(async ({ operator }) => {
        const { file } = request.body
        if (where === 'token') {
          throw new RequestError(
            403,
            'a backup is asked for over the control socket: run "fencegate backup" there',
          )
        }
        const began = performance.now()
        const report = await operator.backup(file, authorOf(request))
        return { file, ...report, ms: Math.round(performance.now() - began) }
      }),
  )
}

/** The store has a time-out of its own; to retire very many marks, or to write a backup, takes minutes. */
async function mayTakeLong({ socket }: FastifyRequest): Promise<void> {
  socket.setTimeout(0)
}

function authorOf({ body, tokenName }: { body: Authored; tokenName: string | undefined }): Author {
  const by = tokenName ?? body.by
  if (by === undefined) throw new Error('an act came without an author')
  return { by, reason: body.reason }
}

function tokenOf(text: string): Token {
  const token = parseToken(text)
  if (token !== undefined) return token
  throw new RequestError(400, `the token must be a decimal integer from 1 to ${MAX_TOKEN}`)
}

function warningOf({ mark, to }: { mark: Token; to: Token }): string {
  return (
    `this breaks P1: tokens from ${to} to ${mark - 1n} are stale now and pass again. Be sure that no holder of such a ` +
    `token is alive, nor anybody who still sends ${mark}: that would raise the mark anew.`
  )
}

/** Somebody who is told that a misspelt task's bodies are erased would believe that theirs are. */
async function expectOperations(store: Running['store'], task: string): Promise<void> {
  const { rows } = await store.operations({ task, limit: 1, after: 0 })
  if (rows.length > 0) return
  throw new RequestError(409, `no operation of the task ${task} is on record: there is nothing to erase`)
}
