/**
 * What the sidecar may make of a valid request: a second, simple reading of the design, which shares no code with
 * `src/request/`. It errs on the side of letting pass: what it forbids, nobody may forward.
 */
import path from 'node:path'
import { type Field, membersOf, valuesOf } from './grammar.ts'
import type { StrictRequest } from './strict.ts'

/** At which every task starts in the fuzzed sidecar's store. */
export const FLOOR = 8n
const MAX_TOKEN = 2n ** 63n - 1n

/** The routes of the fuzzed sidecar; requests that match neither have the default one. */
export const ROUTES = [
  { name: 'settlements', match: { path: '/settlements/{task}/*' } },
  { name: 'open', match: { path: '/open/*' }, guard: 'none' },
]

export type Ruling =
  /** It may reach the resource without a claim. */
  | { readonly may: 'pass' }
  /** It may, if nothing higher was sent for the task. */
  | { readonly may: 'write'; readonly task: string; readonly token: bigint }
  | { readonly may: 'never'; readonly why: string }

export function rulingOn(request: StrictRequest): Ruling {
  const { method, target, fields, trailers } = request
  if (!target.startsWith('/') || target.includes('#')) return never('its target is no path')
  if (target.startsWith('/.well-known/fencegate/')) return never("it is the sidecar's own")
  if (method === 'CONNECT') return never('it asks for a tunnel')
  if (trailers.length > 0) return never('its trailers would be dropped')
  const expectations = valuesOf(fields, 'expect').map((value) => value.toLowerCase())
  if (expectations.some((value) => value !== '100-continue')) return never('its expectation would be dropped')
  const [raw = ''] = target.split('?', 1)
  const place = placeOf(raw)
  const other = readingsOf(raw).find((reading) => placeOf(reading) !== place)
  if (other !== undefined) return never(`its path can be read as ${other}`)
  if (place === OPEN || isRead(method, fields)) return { may: 'pass' }
  return claimOf(fields, place === ANYWHERE ? undefined : place)
}

const never = (why: string): Ruling => ({ may: 'never', why })

/** Neither can be a task in a path, which has no slash. */
const OPEN = '/open'
const ANYWHERE = '/'

/** The route of a path, by the task that it names if there is one. */
function placeOf(path: string): string {
  if (path.startsWith('/open/')) return OPEN
  return /^\/settlements\/([^/]+)\//.exec(path)?.[1] ?? ANYWHERE
}

const decoded = (text: string) =>
  text.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)))

const READERS: readonly ((text: string) => string)[] = [
  decoded,
  (text) => path.posix.normalize(text),
  (text) => text.replaceAll('\\', '/'),
  (text) => text.replace(/;[^/]*/g, ''),
  (text) => (URL.canParse(text, 'http://host') ? new URL(text, 'http://host').pathname : text),
]

/** What two readers one after the other may make of a path. */
function readingsOf(raw: string): string[] {
  const once = READERS.map((read) => read(raw))
  return [...once, ...once.flatMap((text) => READERS.map((read) => read(text)))]
}

const OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override']
const READS = ['GET', 'HEAD', 'OPTIONS']

function isRead(method: string, fields: readonly Field[]): boolean {
  const overrides = fields.filter(([name]) => OVERRIDES.includes(folded(name)))
  const others = membersOf(
    overrides.map(([, value]) => ['override', value]),
    'override',
  )
  return READS.includes(method) && others.every((other) => READS.includes(other.toUpperCase()))
}

/** Servers that hand fields on as variables read `_` as `-`. */
const folded = (name: string) => name.toLowerCase().replaceAll('_', '-')

function claimOf(fields: readonly Field[], inPath: string | undefined): Ruling {
  const named = ['fencing-task', 'fencing-token', 'fencing-holder']
  const dropped = [...membersOf(fields, 'connection'), ...membersOf(fields, 'trailer')].map(folded)
  const lost = named.find((name) => dropped.includes(name))
  if (lost !== undefined) return never(`a hop may drop ${lost}`)
  if (valuesOf(fields, 'trailer').length > 0) return never('it announces trailers')
  const [tasks, tokens, holders] = named.map((name) => fields.filter(([key]) => folded(key) === name)) as [
    Field[],
    Field[],
    Field[],
  ]
  if (tokens.length !== 1 || tasks.length > 1 || holders.length > 1)
    return never('a part of its claim is not once')
  const [[name, text] = ['', '']] = tokens
  if (name.includes('_') || !/^[1-9][0-9]*$/.test(text)) return never(`its token is ${JSON.stringify(text)}`)
  const token = BigInt(text)
  if (token < FLOOR) return never(`its token ${token} is stale`)
  if (token > MAX_TOKEN) return never(`its token ${token} is out of range`)
  const [header] = tasks
  if (header && inPath !== undefined && header[1] !== inPath) return never('it names two tasks')
  const task = header?.[1] ?? inPath
  const names = [...tasks, ...holders].map(([, value]) => value)
  if (names.some((value) => value.includes(','))) return never('its task or holder may be two')
  if (![task ?? '', ...names].every((value) => /^[!-~]{1,256}$/.test(value))) {
    return never('its task or holder is none')
  }
  return { may: 'write', task: task as string, token }
}
