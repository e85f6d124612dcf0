/**
 * The example file read by machine: each key that it shows, with its part of the schema, the value shown and the comment
 * before it. The test of the example and the reference in `docs/configuration.md` are made from this.
 */
import fs from 'node:fs'
import path from 'node:path'
import { isMap, isPair, isScalar, isSeq, type Pair, parseDocument } from 'yaml'
import { configSchema } from '../../src/config/schema.ts'

export const EXAMPLE = path.join(import.meta.dirname, '../../config/fencegate.example.yaml')
export const text = fs.readFileSync(EXAMPLE, 'utf8')
/** With the keys that have no default set as well: they stand behind a bare "#", and what is in them as far in. */
const start = text.indexOf('\nlisten:')
export const complete = text.slice(0, start) + text.slice(start).replace(/^( *)#(?=\S| {2})/gm, '$1')

export interface Schema {
  readonly description?: string
  readonly type?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

export interface Key {
  readonly schema: Schema
  /** What the file shows, as the schema would have it. */
  readonly value: unknown
  readonly comment: string
}

/** The keys that a mapping shows, and those within it, by key path. */
function keysShown(node: unknown, schema: Schema, at = '', found = new Map<string, Key>()): Map<string, Key> {
  if (isSeq(node) && isMap(node.items[0]) && schema.items) {
    // The first item is the one that shows every key.
    const [first] = node.items
    first.commentBefore ??= node.commentBefore ?? null
    return keysShown(first, schema.items, `${at}[]`, found)
  }
  if (!isMap(node) || !schema.properties) return found
  for (const [index, pair] of (node.items as Pair[]).entries()) {
    if (!isPair(pair) || !isScalar(pair.key)) throw new Error(`${at} has a key that is no word`)
    const name = String(pair.key.value)
    const keyPath = at === '' ? name : `${at}.${name}`
    const own = schema.properties[name]
    if (!own) throw new Error(`${keyPath} is not in the schema`)
    const value = isScalar(pair.value) ? pair.value.value : undefined
    // The comment before a mapping's first key belongs to the mapping.
    const comment = pair.key.commentBefore ?? (index === 0 ? node.commentBefore : undefined) ?? ''
    found.set(keyPath, { schema: own, value: typeof value === 'bigint' ? String(value) : value, comment })
    keysShown(pair.value, own, keyPath, found)
  }
  return found
}

/** The key paths of a schema. */
export function keysOf(schema: Schema, at = ''): string[] {
  if (schema.items?.properties) return keysOf(schema.items, `${at}[]`)
  return Object.entries(schema.properties ?? {}).flatMap(([name, own]) => {
    const keyPath = at === '' ? name : `${at}.${name}`
    // A route's upstream has the keys of the file's; the example says so instead of repeating them.
    return keyPath === 'routes[].upstream' ? [keyPath] : [keyPath, ...keysOf(own, keyPath)]
  })
}

const document = parseDocument(complete, { intAsBigInt: true })
export const shownKeys = keysShown(document.contents, configSchema as Schema)
/** Without taking any "#" away. */
export const shownKeysAsIs = keysShown(parseDocument(text).contents, configSchema as Schema)
