/**
 * Judges a tree by the schema: notes what is wrong, takes it out, and fills in the defaults, so that what
 * remains can be read on and all its faults be told at once.
 */
import { Ajv, type ErrorObject } from 'ajv'
import { type Faults, nearest, shown, step } from './faults.ts'
import { isHttp2Key, NO_HTTP2 } from './http2.ts'
import { type ConfigFile, configSchema, type OnceFile } from './schema.ts'

type Container = Record<string, unknown>

const validate = new Ajv({ allErrors: true, verbose: true, useDefaults: true }).compile(configSchema)

/** Afterwards the tree's kinds are right and its defaults filled in. Refused list entries leave holes. */
export function check(tree: unknown, faults: Faults): ConfigFile {
  const root = isMapping(tree) ? tree : {}
  if (root !== tree) faults.add('the file', `holds ${shown(tree)}; write a mapping of keys`)
  validate(root)
  for (const error of [...(validate.errors ?? [])]) {
    const unknown =
      error.keyword === 'additionalProperties' ? String(error.params.additionalProperty) : undefined
    const pointer = error.instancePath.split('/').slice(1).map(unescaped)
    if (unknown !== undefined) pointer.push(unknown)
    if (!isEmptySection(error)) {
      faults.add(
        pointer.map(step).join('').replace(/^\./, ''),
        unknown === undefined ? wrongKind(error) : unknownKey(unknown, error),
      )
    }
    remove(root, pointer)
  }
  return fillIn(root as ConfigFile)
}

/** Fills in the defaults of what was added to a checked tree, and what a guard needs. */
export function fillIn(tree: ConfigFile): ConfigFile {
  validate(tree)
  for (const route of tree.routes) {
    // An entry that was refused is a hole.
    if (route?.guard === 'once') route.once ??= {} as OnceFile
  }
  validate(tree)
  return tree
}

/** `limits:` with every key in it commented out is as good as left out. */
function isEmptySection({ data, parentSchema }: ErrorObject): boolean {
  return data === null && typeof (parentSchema as { default?: unknown }).default === 'object'
}

/** Whoever writes a credential or a key where the name of its file belongs must not find it in a log. */
const SECRET = /\/(auth|keyFile)(\/|$)/

function wrongKind({ data, parentSchema, keyword, instancePath }: ErrorObject): string {
  const description = (parentSchema as { description: string }).description
  if (data === null) return `is empty: write ${description}, or remove the key`
  const isList = keyword === 'minItems' || keyword === 'uniqueItems'
  const value = isList ? 'the list' : SECRET.test(instancePath) ? 'what it holds' : shown(data)
  return `${value} does not fit: write ${description}`
}

function unknownKey(key: string, { parentSchema }: ErrorObject): string {
  if (isHttp2Key(key)) return NO_HTTP2
  const allowed = Object.keys((parentSchema as { properties: object }).properties)
  const meant = nearest(key, allowed)
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  return `is not a key here.${hint} Keys here: ${allowed.join(', ')}`
}

function remove(root: Container, pointer: readonly string[]): void {
  const parent = pointer
    .slice(0, -1)
    .reduce<unknown>((node, key) => (node as Container | undefined)?.[key], root)
  const last = pointer.at(-1)
  if (parent !== undefined && last !== undefined) delete (parent as Container)[last]
}

function isMapping(value: unknown): value is Container {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** RFC 6901, section 4. */
function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
