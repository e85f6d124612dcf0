/** Operators' acts on the control port. Every act names its author and a reason, and is on record before it is answered. */
import type { FastifyInstance } from 'fastify'
import Type, { type Static } from 'typebox'
import { ActError, type OpenWrite, type Operator } from '../gate/operator.ts'
import type { Author } from '../journal/records.ts'
import type { MarkStore } from '../store/mark-store.ts'
import { taskOf, tokenOf } from './parameters.ts'
import { shownToken } from './record-routes.ts'

const author = {
  by: Type.String({ minLength: 1, maxLength: 256 }),
  reason: Type.String({ minLength: 1, maxLength: 4096 }),
}
const Authored = Type.Object(author, { additionalProperties: false })
const Thaw = Type.Object({ ...author, token: Type.Optional(Type.String()) }, { additionalProperties: false })
const Raise = Type.Object({ ...author, token: Type.String() }, { additionalProperties: false })
const Resolve = Type.Object(
  { ...author, resolution: Type.Enum(['applied', 'not-applied', 'compensated']) },
  { additionalProperties: false },
)

type OnTask<B> = { Params: { task: string }; Body: B }

export function addActRoutes(on: FastifyInstance, operator: Operator, store: MarkStore): void {
  on.post<OnTask<Author>>(
    '/v1/tasks/:task/freeze',
    { schema: { body: Authored } },
    async ({ params, body }) => shownOpen(await operator.freeze(taskOf(params.task), body)),
  )
  on.post<OnTask<Static<typeof Thaw>>>(
    '/v1/tasks/:task/thaw',
    { schema: { body: Thaw } },
    async ({ params, body: { token, ...body } }) =>
      shownOpen(
        await operator.thaw(taskOf(params.task), body, token === undefined ? undefined : tokenOf(token)),
      ),
  )
  on.post<OnTask<Static<typeof Raise>>>(
    '/v1/tasks/:task/raise',
    { schema: { body: Raise } },
    async ({ params, body: { token, ...body } }) =>
      shownOpen(await operator.raise(taskOf(params.task), body, tokenOf(token))),
  )
  on.post<OnTask<Author>>(
    '/v1/tasks/:task/erase',
    { schema: { body: Authored } },
    async ({ params, body }) => {
      const task = taskOf(params.task)
      await expectOperations(store, task)
      return shownOpen(await operator.erase(task, body))
    },
  )
  on.post<{ Params: { id: string }; Body: Static<typeof Resolve> }>(
    '/v1/unknown/:id/resolve',
    { schema: { body: Resolve } },
    async ({ params, body: { resolution, ...body } }) =>
      shownToken(await operator.resolve(params.id, resolution, body)),
  )
}

/** Somebody who is told that a misspelt task's bodies are erased would believe that theirs are. */
async function expectOperations(store: MarkStore, task: string): Promise<void> {
  const { rows } = await store.operations({ task, limit: 1, after: 0 })
  if (rows.length === 0) {
    throw new ActError(`no operation of the task ${task} is on record: there is nothing to erase`)
  }
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
