/**
 * The words of the API as JSON Schema: what requests are checked by, answers are written by, and OpenAPI is made of.
 *
 * Tokens are strings: a JSON number past 2^53 would be rounded by most readers. An answer has no key but those here.
 * The description of what a request holds completes the sentence "write ...".
 */
import Type, { type TProperties, type TSchema } from 'typebox'

const TOKEN_WORDS = 'a token in quotes, in decimal digits from 1 to 9223372036854775807, such as "9"'

export const object = <P extends TProperties>(properties: P, description = '') =>
  Type.Object(properties, { additionalProperties: false, ...(description && { description }) })

/** An object of which the keys depend on what it tells. */
export const open = (description: string) => Type.Object({}, { additionalProperties: true, description })

export const optional = Type.Optional
export const text = (description: string, maxLength?: number) =>
  Type.String({ description, ...(maxLength && { minLength: 1, maxLength }) })
export const count = (description: string) => Type.Integer({ minimum: 0, description })
/** Milliseconds: since the epoch, or of a duration, which has parts of one. */
export const ms = (description: string) => Type.Number({ description })
export const flag = (description: string) => Type.Boolean({ description })
export const list = <T extends TSchema>(items: T) => Type.Array(items)

export const tokenIn = Type.String({ pattern: '^[1-9][0-9]{0,18}$', description: TOKEN_WORDS })
/** The mark of a task without one may be 0. */
export const tokenOut = Type.String({ pattern: '^(0|[1-9][0-9]{0,18})$', description: 'a token, or 0' })
export const task = Type.String({
  pattern: '^[!-~]{1,256}$',
  description: 'the name of a task, 1 to 256 visible ASCII characters, percent-encoded in a URL',
})
export const kind = Type.Enum(['handover', 'rejection', 'act', 'resolved', 'dropped'], {
  description: 'handover, rejection, act, resolved or dropped',
})

export const integer = (minimum: number, maximum: number, value?: number) =>
  Type.Integer({
    minimum,
    maximum,
    description: `a whole number from ${minimum} to ${maximum}`,
    ...(value !== undefined && { default: value }),
  })

const MAX_PAGE = 1000
export const limit = integer(1, MAX_PAGE, 100)
export const place = integer(0, Number.MAX_SAFE_INTEGER, 0)
export const atPlace = { limit, after: place }

export const TaskParams = object({ task })

export const OpenWrite = object({
  route: text('the route'),
  method: text('the method'),
  target: text('the target'),
  operation: optional(text("the operation's key")),
  token: tokenOut,
  holder: optional(text('who holds the token')),
  ageMs: ms('for how long it has been open'),
})

export const Entry = object({
  seq: count('rises with each entry'),
  atMs: ms('when, wall clock'),
  kind,
  task: optional(text('the task')),
  token: optional(tokenOut),
  data: open('what there is to say of this kind'),
})

const ErrorAnswer = object({ error: text('the field, its fault and the remedy') })

const ERRORS: Readonly<Record<number, string>> = {
  400: 'The request is not as it must be.',
  401: 'A bearer token is missing, or not one of those that are known.',
  403: 'Not here.',
  404: 'There is no such route or record.',
  409: 'It makes no sense as things are; nothing was changed.',
  413: 'The body is too long.',
  415: 'The body is not JSON.',
  421: 'The Host is not one that reads without a token may name.',
  429: 'Too many wrong tokens came from this address.',
  503: 'The sidecar starts or stops, or its store does not answer; ask again after Retry-After seconds.',
}

/** What a route answers: this, or one of the errors that any route of its kind has. */
export function answers(answer: TSchema, ...statuses: readonly number[]): Record<number, TSchema> {
  const errors = [400, 401, 403, 421, 429, 500, 503, ...statuses].map((status) => {
    return [status, { ...ErrorAnswer, description: ERRORS[status] ?? 'The sidecar failed.' }]
  })
  return { ...Object.fromEntries(errors), 200: { description: 'As asked.', ...answer } }
}
