/**
 * How requests are checked against the schemas of their routes: strictly, and with messages that say what to write.
 *
 * A token that is a JSON number is refused, as readers round those; an integer in a query is one in plain decimal digits,
 * because in a query everything is text.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { RequestError } from './request-error.ts'

// Verbose for the descriptions, which complete the sentence "write ...".
const ajv = new Ajv({ useDefaults: true, removeAdditional: false, coerceTypes: false, verbose: true })

interface ObjectSchema {
  readonly properties?: Readonly<
    Record<string, TSchema & { readonly type?: string; readonly description?: string }>
  >
}

export const compile: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  // When the route is first asked for: to compile them all would hold up each start.
  let validate: ValidateFunction | undefined
  const part = httpPart === 'querystring' ? 'query' : httpPart === 'params' ? 'path' : (httpPart ?? 'body')
  return (data: unknown) => {
    if (httpPart === 'querystring') readIntegers(data as Record<string, unknown>, schema)
    validate ??= ajv.compile(schema)
    if (validate(data)) return { value: data }
    const [fault] = validate.errors ?? []
    return {
      error: new RequestError(400, fault ? sentence(part, fault) : `the ${part} is not as it must be`),
    }
  }
}

function readIntegers(query: Record<string, unknown>, { properties = {} }: ObjectSchema): void {
  for (const [name, value] of Object.entries(query)) {
    if (properties[name]?.type !== 'integer' || typeof value !== 'string') continue
    if (/^(0|[1-9]\d{0,15})$/.test(value)) query[name] = Number(value)
  }
}

function sentence(
  part: string,
  { keyword, instancePath, message, params, parentSchema }: ErrorObject,
): string {
  const at = `${part}${instancePath} ${message}`
  const { properties = {}, description } = (parentSchema ?? {}) as ObjectSchema & { description?: string }
  if (keyword === 'additionalProperties') {
    const known = Object.keys(properties)
    const remedy = known.length === 0 ? 'there are none' : `there are ${known.join(', ')}`
    return `${at}, and ${JSON.stringify(params.additionalProperty)} is one: ${remedy}`
  }
  const wanted = keyword === 'required' ? properties[params.missingProperty]?.description : description
  return wanted === undefined ? at : `${at}: write ${wanted}`
}
