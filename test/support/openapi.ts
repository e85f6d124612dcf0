/** What an OpenAPI 3.1 document must be, as far as this repository's needs it: its faults, one line each. */
import { Ajv2020 } from 'ajv/dist/2020.js'

export interface Operation {
  readonly summary?: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: object
  }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
}

type Content = Readonly<Record<string, { readonly schema?: object }>>

export interface Document {
  readonly openapi: string
  readonly info: { readonly title?: string; readonly version?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly securitySchemes: Readonly<Record<string, object>> }
}

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])

export function faultsOf({ openapi, info, paths, components }: Document): string[] {
  const faults: string[] = []
  if (!/^3\.1\.\d+$/.test(openapi)) faults.push(`openapi is ${openapi}`)
  if (!info.title || !info.version) faults.push('info has no title or no version')
  for (const [path, methods] of Object.entries(paths)) {
    if (!path.startsWith('/') || path.includes(':')) faults.push(`${path} is no path`)
    for (const [method, operation] of Object.entries(methods)) {
      if (!METHODS.has(method)) faults.push(`${method} ${path} is no operation`)
      const schemes = Object.keys(components.securitySchemes)
      const found = operationFaults(path, operation, schemes)
      faults.push(...found.map((fault) => `${method} ${path}: ${fault}`))
    }
  }
  return faults
}

function operationFaults(path: string, operation: Operation, schemes: readonly string[]): string[] {
  const { summary, security = [], parameters = [], requestBody, responses } = operation
  const faults = summary ? [] : ['no summary']
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const named = parameters.filter((each) => each.in === 'path')
  if (named.map(({ name }) => name).join() !== inPath.join()) faults.push('path parameters differ')
  if (named.some(({ required }) => required !== true)) faults.push('a path parameter is not required')
  if (parameters.some((each) => !['path', 'query', 'header'].includes(each.in) || !each.schema)) {
    faults.push('a parameter is in no place, or without a schema')
  }
  for (const scheme of security.flatMap(Object.keys)) {
    if (!schemes.includes(scheme)) faults.push(`no security scheme ${scheme}`)
  }
  for (const [status, { description }] of Object.entries(responses)) {
    if (!/^[1-5]\d\d$/.test(status)) faults.push(`${status} is no status`)
    if (!description || description === 'Default Response') faults.push(`${status} has no description`)
  }
  const contents = [
    requestBody?.content ?? {},
    ...Object.values(responses).map(({ content }) => content ?? {}),
  ]
  const schemas = [
    ...parameters.map(({ schema }) => schema),
    ...contents.flatMap((content) => Object.values(content).map(({ schema }) => schema)),
  ]
  return [...faults, ...schemas.flatMap(schemaFaults)]
}

const ajv = new Ajv2020({ strict: true })

/** Compiling would say it more slowly. */
function schemaFaults(schema: object | undefined): string[] {
  if (!schema) return ['a content without a schema']
  return ajv.validateSchema(schema) ? [] : [ajv.errorsText()]
}
