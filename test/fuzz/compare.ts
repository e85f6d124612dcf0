/**
 * Whether what the resource received is what the client sent. Only what every hop must change may differ: the
 * connection's own fields, Host, and the spelling and place of the field that delimits the body.
 */
import { type Field, membersOf, valuesOf } from './grammar.ts'
import type { StrictRequest } from './strict.ts'

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'expect',
  'content-length',
])

/** How they differ; undefined if they don't. What is not whole at the resource must be the beginning of it. */
export function difference(sent: StrictRequest, got: StrictRequest, host: string): string | undefined {
  const found = headDifference(sent, got, host)
  if (found !== undefined) return found
  const expected = got.whole ? sent.body : sent.body.subarray(0, got.body.length)
  if (!expected.equals(got.body)) return 'its body differs'
  if (got.whole && !sent.whole) return 'it is whole there, and was not whole as sent'
  if (got.trailers.length > 0) return 'it has trailers there'
  return undefined
}

function headDifference(sent: StrictRequest, got: StrictRequest, host: string): string | undefined {
  if (got.method !== sent.method) return `its method is ${got.method} there`
  if (got.target !== sent.target) return `its target is ${got.target} there`
  if (got.version !== '1.1') return `its version is ${got.version} there`
  if (valuesOf(got.fields, 'host').join() !== host) return 'its Host is not the resource'
  const [wanted, present] = [endToEnd(sent), endToEnd(got)]
  for (let i = 0; i < Math.max(wanted.length, present.length); i++) {
    if (wanted[i]?.join(': ') === present[i]?.join(': ')) continue
    return `field ${i} is ${JSON.stringify(present[i])} there, and was sent as ${JSON.stringify(wanted[i])}`
  }
  // To be empty is one thing, whatever says so.
  const empty = sent.whole && sent.body.length === 0 && got.whole && got.body.length === 0
  const [was, is] = [delimited(sent), delimited(got)]
  return empty || was === is ? undefined : `its body is delimited by ${is} there, and was by ${was}`
}

const delimited = ({ framing }: StrictRequest) =>
  typeof framing === 'string' ? framing : `length ${framing.length}`

function endToEnd({ fields }: StrictRequest): Field[] {
  // `close` is an option that is no field's name (RFC 9110, section 7.6.1).
  const nominated = membersOf(fields, 'connection').filter((option) => option !== 'close')
  return fields.filter(([name]) => {
    const lower = name.toLowerCase()
    return !HOP_BY_HOP.has(lower) && !nominated.includes(lower)
  })
}
