/** Header names and values in the configuration: what a field may be called, hold, and be used for. */
import { shown, ValueFault } from './faults.ts'

/** Fields that end at each hop or say where a message ends (RFC 9110, section 7.6.1). */
const HOP_OR_FRAMING = [
  'connection',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** What the sidecar takes away or writes itself, so that a credential there would not arrive. */
const OWN_OF_REQUESTS = ['expect', 'forwarded', 'host', 'http2-settings', 'via']

/** Fields of a refusal that are fencegate's own. */
const OWN_OF_REFUSALS = ['content-encoding', 'content-type', 'date', 'proxy-status', 'retry-after']

/** What tells a replay from the answer itself. */
const REPLAYED = 'idempotent-replayed'

/** A field's name, in lower case. RFC 9110, section 5.1: a token. */
function parseHeaderName(text: string): string {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(text)) return text.toLowerCase()
  throw new ValueFault(
    `${shown(text)} is not the name of a header field: write letters, digits and "-", such as Fencing-Token`,
  )
}

/** The name of a field that carries a part of the claim. */
export function parseClaimHeader(text: string): string {
  const name = parseHeaderName(text)
  if (name !== 'host' && !HOP_OR_FRAMING.includes(name)) return name
  throw new ValueFault(
    `${shown(text)} has a meaning of its own in HTTP: name a field that only the claim uses`,
  )
}

/** The name of the field that carries the resource's credential. */
export function parseAuthHeader(text: string, claimHeaders: readonly string[]): string {
  const name = parseHeaderName(text)
  if (HOP_OR_FRAMING.includes(name) || OWN_OF_REQUESTS.includes(name) || name.startsWith('x-forwarded-')) {
    throw new ValueFault(
      `${shown(text)} has a meaning of its own in HTTP: name a field such as authorization or x-api-key`,
    )
  }
  if (claimHeaders.some((header) => twinOf(header) === twinOf(name))) {
    throw new ValueFault(`${shown(text)} is a header of the claim: name another field`)
  }
  return name
}

/** The name of a field that is added to refusals. */
export function parseRefusalHeader(text: string): string {
  const name = parseHeaderName(text)
  if (HOP_OR_FRAMING.includes(name)) {
    throw new ValueFault(`${shown(text)} governs the connection or the message's framing: remove it`)
  }
  if (OWN_OF_REFUSALS.includes(name)) {
    throw new ValueFault(`${shown(text)} is set by fencegate itself on every refusal: remove it`)
  }
  return name
}

/** The name of a field of an answer that is kept for replays. */
export function parseKeptHeader(text: string): string {
  const name = parseHeaderName(text)
  if (HOP_OR_FRAMING.includes(name)) {
    throw new ValueFault(`${shown(text)} governs the connection or the message's framing: remove it`)
  }
  if (name !== REPLAYED) return name
  throw new ValueFault(`${shown(text)} is set by fencegate itself on every replay: remove it`)
}

/** RFC 9110, section 5.5, less the bytes beyond ASCII. */
export function isHeaderValue(text: string): boolean {
  return /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/.test(text)
}

export function parseHeaderValue(text: string): string {
  if (isHeaderValue(text)) return text
  throw new ValueFault(
    `${shown(text)} is not a header's value: write visible ASCII, without line breaks and without space at either end`,
  )
}

/** How a receiver that maps `-` to `_` sees a name: two fields that agree in it are twins. */
export function twinOf(name: string): string {
  return name.replaceAll('_', '-')
}
