/**
 * The control port: operators' acts on the running sidecar, over a Unix socket in the data directory that only
 * its user can open. Every act names its author and a reason, and is on record before it is answered.
 */
import fs from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import Type, { type Static } from 'typebox'
import { ActError, type OpenWrite, type Operator } from '../gate/operator.ts'
import type { UnknownWrite } from '../journal/records.ts'
import { type MarkStore, StoreError } from '../store/mark-store.ts'
import { isTask, MAX_TOKEN, parseToken } from '../token.ts'

const author = {
  by: Type.String({ minLength: 1, maxLength: 256 }),
  reason: Type.String({ minLength: 1, maxLength: 4096 }),
}
const Freeze = Type.Object(author, { additionalProperties: false })
const Thaw = Type.Object({ ...author, token: Type.Optional(Type.String()) }, { additionalProperties: false })
const Raise = Type.Object({ ...author, token: Type.String() }, { additionalProperties: false })
const Resolve = Type.Object(
  { ...author, resolution: Type.Enum(['applied', 'not-applied', 'compensated']) },
  { additionalProperties: false },
)
const MAX_LISTED = 10_000
const Listing = Type.Object({ limit: Type.String({ default: '100' }) }, { additionalProperties: false })

/** Longest task name, each of its characters escaped. */
const MAX_PARAM_LENGTH = 3 * 256

export class ControlPort {
  readonly #fastify: FastifyInstance
  readonly #socket: string

  /** @param socket the path at which it listens. */
  constructor(socket: string, operator: Operator, store: MarkStore) {
    this.#socket = socket
    this.#fastify = Fastify({
      logger: false,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
      // By default a misspelt key would be dropped in silence, and a token that is a number rounded.
      ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
    })
    this.#fastify.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
      const status = error instanceof ActError ? 409 : error instanceof StoreError ? 503 : error.statusCode
      return reply.code(status ?? 500).send({ error: error.message })
    })
    this.#acts(operator)
    this.#fastify.get<{ Querystring: Static<typeof Listing> }>(
      '/v1/unknown',
      { schema: { querystring: Listing } },
      async ({ query }) => ({ unknown: (await store.unresolved(limitOf(query))).map(shownWrite) }),
    )
  }

  async listen(): Promise<void> {
    // The store's lock is held, so a socket that is there belongs to nobody any more.
    fs.rmSync(this.#socket, { force: true })
    await this.#fastify.listen({ path: this.#socket })
    fs.chmodSync(this.#socket, 0o600)
  }

  async close(): Promise<void> {
    await this.#fastify.close()
    fs.rmSync(this.#socket, { force: true })
  }

  #acts(operator: Operator): void {
    const on = this.#fastify
    type OnTask<B> = { Params: { task: string }; Body: B }
    on.post<OnTask<Static<typeof Freeze>>>(
      '/v1/tasks/:task/freeze',
      { schema: { body: Freeze } },
      async ({ params, body }) => shownOpen(await operator.freeze(taskOf(params), body)),
    )
    on.post<OnTask<Static<typeof Thaw>>>(
      '/v1/tasks/:task/thaw',
      { schema: { body: Thaw } },
      async ({ params, body: { token, ...body } }) =>
        shownOpen(
          await operator.thaw(taskOf(params), body, token === undefined ? undefined : tokenOf(token)),
        ),
    )
    on.post<OnTask<Static<typeof Raise>>>(
      '/v1/tasks/:task/raise',
      { schema: { body: Raise } },
      async ({ params, body: { token, ...body } }) =>
        shownOpen(await operator.raise(taskOf(params), body, tokenOf(token))),
    )
    on.post<{ Params: { id: string }; Body: Static<typeof Resolve> }>(
      '/v1/unknown/:id/resolve',
      { schema: { body: Resolve } },
      async ({ params, body: { resolution, ...body } }) =>
        shownWrite(await operator.resolve(params.id, resolution, body)),
    )
  }
}

function taskOf({ task }: { task: string }): string {
  if (isTask(task)) return task
  throw new ActError('the task must be 1 to 256 visible ASCII characters')
}

function tokenOf(text: string): bigint {
  const token = parseToken(text)
  if (token !== undefined) return token
  throw new ActError(`the token must be a decimal integer from 1 to ${MAX_TOKEN}`)
}

function limitOf({ limit }: Static<typeof Listing>): number {
  const number = /^[1-9]\d{0,4}$/.test(limit) ? Number(limit) : Infinity
  if (number <= MAX_LISTED) return number
  throw new ActError(`the limit must be an integer from 1 to ${MAX_LISTED}`)
}

/** Tokens are JSON strings: a JSON number past 2^53 would be rounded by most readers. */
function shownWrite(write: UnknownWrite) {
  return { ...write, token: write.token.toString() }
}

function shownOpen(writes: OpenWrite[]) {
  return {
    open: writes.map(({ admission: { claim, facts }, ageMs }) => ({
      ...facts,
      token: claim.token.toString(),
      holder: claim.holder,
      ageMs: Math.round(ageMs),
    })),
  }
}
