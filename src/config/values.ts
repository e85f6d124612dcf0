/**
 * The spellings of single values: durations, sizes, tokens, names, header fields. Each parser returns the
 * value or throws a {@link ValueFault} that says what to write instead.
 */
import { MAX_TOKEN, parseToken, type Token } from '../token.ts'
import { shown, ValueFault } from './faults.ts'
import { isHttp2Protocol, NO_HTTP2 } from './http2.ts'

const DURATION_UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** Well under 2^31 ms, from where on a timer of Node fires at once. */
const MAX_DURATION_MS = DURATION_UNITS.d
const MAX_AGE_DAYS = 3650

/** Milliseconds. `zero` says whether `0s` is one. */
export function parseDuration(text: string, zero: 'zero' | 'above-zero' = 'above-zero'): number {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? []
  if (digits === undefined) {
    throw new ValueFault(
      `${shown(text)} is not a duration: write a whole number and ms, s, m or h, such as 500ms, 30s or 5m`,
    )
  }
  const ms = Number(digits) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS]
  if (ms > MAX_DURATION_MS) throw new ValueFault(`${text} is too long: write at most 24h`)
  if (ms === 0 && zero === 'above-zero') throw new ValueFault(`${text} is too short: write at least 1ms`)
  return ms
}

/** The shortest spelling that {@link parseDuration} reads back. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s'
  const unit = (['h', 'm', 's'] as const).find((unit) => ms % DURATION_UNITS[unit] === 0) ?? 'ms'
  return `${ms / DURATION_UNITS[unit]}${unit}`
}

/** Milliseconds of what is never a timer: how long something is kept or remembered. */
export function parseAge(text: string): number {
  const [, digits, unit] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? []
  if (digits === undefined) {
    throw new ValueFault(
      `${shown(text)} is not a duration: write a whole number and ms, s, m, h or d, such as 30s, 12h or 30d`,
    )
  }
  const ms = Number(digits) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS]
  if (ms > MAX_AGE_DAYS * DURATION_UNITS.d) {
    throw new ValueFault(`${text} is too long: write at most ${MAX_AGE_DAYS}d`)
  }
  if (ms === 0) throw new ValueFault(`${text} is too short: write at least 1ms`)
  return ms
}

/** The shortest spelling that {@link parseAge} reads back. */
export function formatAge(ms: number): string {
  return ms > 0 && ms % DURATION_UNITS.d === 0 ? `${ms / DURATION_UNITS.d}d` : formatDuration(ms)
}

const SIZE_UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const

/** Bytes, from `minimum` to `maximum`. */
export function parseSize(text: string, minimum: number, maximum: number): number {
  const [, digits, unit] = /^(\d{1,9})(B|KiB|MiB|GiB)$/.exec(text) ?? []
  if (digits === undefined) {
    throw new ValueFault(
      `${shown(text)} is not a size: write a whole number and B, KiB, MiB or GiB, such as 512B or 16KiB`,
    )
  }
  const bytes = Number(digits) * SIZE_UNITS[unit as keyof typeof SIZE_UNITS]
  if (bytes >= minimum && bytes <= maximum) return bytes
  throw new ValueFault(`${text} is out of range: write ${formatSize(minimum)} to ${formatSize(maximum)}`)
}

/** The shortest spelling that {@link parseSize} reads back. */
export function formatSize(bytes: number): string {
  if (bytes === 0) return '0B'
  const unit = (['GiB', 'MiB', 'KiB'] as const).find((unit) => bytes % SIZE_UNITS[unit] === 0) ?? 'B'
  return `${bytes / SIZE_UNITS[unit]}${unit}`
}

export function parseTokenValue(text: string): Token {
  const token = parseToken(text)
  if (token !== undefined) return token
  throw new ValueFault(
    `${shown(text)} is not a token: write 1 to ${MAX_TOKEN} in decimal digits, without sign or leading zero`,
  )
}

/** What every task starts at: a token, or 0 for "no token was ever granted". */
export function parseFloor(text: string): Token {
  const floor = text === '0' ? 0n : parseToken(text)
  if (floor !== undefined) return floor
  throw new ValueFault(
    `${shown(text)} is not a floor: write 0 to ${MAX_TOKEN} in decimal digits, without sign or leading zero`,
  )
}

export function parseRouteName(text: string): string {
  return parseName(text, "a route's name")
}

/** The name of a scope: what keeps the keys of two providers apart. */
export function parseScope(text: string): string {
  return parseName(text, 'a scope')
}

function parseName(text: string, what: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text)) return text
  throw new ValueFault(`${shown(text)} is not ${what}: write 1 to 64 letters, digits, ".", "_" or "-"`)
}

/** RFC 9110, section 9.1: a token, case-sensitive. */
export function parseMethod(text: string): string {
  if (/^[A-Z0-9!#$%&'*+.^_`|~-]+$/.test(text)) return text
  const upper = text.toUpperCase()
  if (/^[A-Z0-9!#$%&'*+.^_`|~-]+$/.test(upper)) {
    throw new ValueFault(`${shown(text)} would match nothing: methods are case-sensitive, write ${upper}`)
  }
  throw new ValueFault(`${shown(text)} is not an HTTP method: write one such as POST, in upper case`)
}

/** A protocol to upgrade to: its name, and a version where it has one (RFC 9110, section 7.8). */
export function parseProtocol(text: string): string {
  const lower = text.toLowerCase()
  if (isHttp2Protocol(lower)) throw new ValueFault(`${shown(text)} ${NO_HTTP2}`)
  if (/^tls(\/|$)/.test(lower)) {
    throw new ValueFault(
      `${shown(text)} can't be begun within a connection: give the data port a certificate in tls, and the ` +
        'resource a url with https',
    )
  }
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]+(\/[a-z0-9!#$%&'*+.^_`|~-]+)?$/.test(lower)) {
    throw new ValueFault(`${shown(text)} is not a protocol to upgrade to: write one such as websocket`)
  }
  if (lower !== text) throw new ValueFault(`${shown(text)} is not in lower case: write ${lower}`)
  return text
}

/** A path in the file system, as written. */
export function parseFilePath(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (text !== '' && !/[\x00-\x1f\x7f]/.test(text)) return text
  throw new ValueFault(`${shown(text)} is not a path: write one without control characters, such as ./data`)
}
