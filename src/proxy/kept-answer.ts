/** What is kept of an answer for replays: its status, the fields that the route lists, and its body, redacted. */
import type { OnceRule } from '../config/config.ts'
import type { RecordedAnswer } from '../journal/operations.ts'
import { answerHeaders, type RawHeaders } from './headers.ts'
import { redacted } from './redaction.ts'

/**
 * @param body undefined if it was too long to be held.
 * @param seal encrypts what is kept; undefined: it is kept as it is.
 */
export function keptAnswer(
  rule: OnceRule,
  status: number,
  headers: RawHeaders,
  body: Buffer | undefined,
  seal: ((body: Uint8Array) => Uint8Array) | undefined,
): RecordedAnswer {
  const endToEnd = answerHeaders(headers, false)
  const kept = { status, headers: listed(endToEnd, rule.keepHeaders) }
  if (!body || body.byteLength > rule.keepBodyBytes)
    return { ...kept, bodyKept: 'too-large', body: undefined }
  // A coded body can't be looked into, and one that isn't JSON has no places to redact.
  const coding = listed(endToEnd, ['content-encoding'])
  const plain = coding.length > 0 && rule.redact.length > 0 ? undefined : redacted(body, rule.redact)
  if (!plain) return { ...kept, bodyKept: 'none', body: undefined }
  // It is of no use without the name of its coding.
  if (!rule.keepHeaders.includes('content-encoding')) kept.headers.push(...coding)
  if (!seal || plain.byteLength === 0) return { ...kept, bodyKept: 'plain', body: plain }
  return { ...kept, bodyKept: 'encrypted', body: seal(plain) }
}

function listed(raw: RawHeaders, names: readonly string[]): string[] {
  return raw.filter((_, i) => names.includes((raw[i - (i % 2)] as string).toLowerCase()))
}
