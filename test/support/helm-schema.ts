/**
 * The chart's `config` has the keys of the program's configuration: this makes its part of values.schema.json from the
 * schema in src/config. A test holds the two together; run this file to bring values.schema.json up to date.
 *
 * Nothing is required and there are no defaults, because the program fills in what is left out.
 */
import fs from 'node:fs'
import path from 'node:path'
import { configSchema } from '../../src/config/schema.ts'
import { ROOT } from './sources.ts'

export const SCHEMA_FILE = path.join(ROOT, 'charts/fencegate/values.schema.json')

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export function configDefinition(): Json {
  return bare(JSON.parse(JSON.stringify(configSchema)))
}

/** `required` and `default` are key words only where a schema stands, and not the names of properties. */
function bare(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(bare)
  if (typeof schema !== 'object' || schema === null) return schema
  const { required: _required, default: _default, ...rest } = schema
  return Object.fromEntries(
    Object.entries(rest).map(([word, value]) => [
      word,
      word === 'properties' ? properties(value) : bare(value),
    ]),
  )
}

function properties(value: Json | undefined): Json {
  return Object.fromEntries(Object.entries(value as object).map(([name, schema]) => [name, bare(schema)]))
}

if (import.meta.main) {
  const schema = JSON.parse(fs.readFileSync(SCHEMA_FILE, 'utf8'))
  schema.definitions.config = configDefinition()
  fs.writeFileSync(SCHEMA_FILE, `${JSON.stringify(schema, null, 2)}\n`)
}
