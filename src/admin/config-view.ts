/**
 * The configuration in force, for people to read: tokens as strings, and of secrets only that they are set.
 *
 * Invariant: what is listed here, and any bytes, are never shown. A secret that is new belongs on this list.
 */
const SECRETS: ReadonlySet<string> = new Set([
  'admin.tokens.named[].digest',
  'tls.key',
  'upstream.auth.value',
  'upstream.tls.key',
  'routes[].upstream.auth.value',
  'routes[].upstream.tls.key',
  'operations.key',
])
const SET = '(set)'

export function shownConfig(config: object): Record<string, unknown> {
  return shown(config, '') as Record<string, unknown>
}

function shown(value: unknown, at: string): unknown {
  if (value === undefined) return undefined
  if (SECRETS.has(at) || ArrayBuffer.isView(value)) return SET
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return value.map((each) => shown(each, `${at}[]`))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, shown(each, at === '' ? key : `${at}.${key}`)]),
  )
}
