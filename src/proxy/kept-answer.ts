/** What is kept of an answer for replays: its status, the fields that the route lists, and its body, redacted. */
import type { OnceRule } from '../config/config.ts'
import type { RecordedAnswer } from '../journal/operations.ts'
import { answerHeaders, type RawHeaders } from './headers.ts'
import { redacted } from './redaction.ts'

/** @param body undefined if it was too long to be kept. */
export function keptAnswer(
  { keepHeaders, keepBodyBytes, redact }: OnceRule,
  status: number,
  headers: RawHeaders,
  body: Buffer | undefined,
): RecordedAnswer {
  const endToEnd = answerHeaders(headers, false)
  const kept = endToEnd.filter((_, i) =>
    keepHeaders.includes((endToEnd[i - (i % 2)] as string).toLowerCase()),
  )
  // A coded body can't be looked into, and one that isn't JSON has no places to redact.
  const plain = body && body.byteLength <= keepBodyBytes ? body : undefined
  const coded = endToEnd.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-encoding')
  const readable = plain && (redact.length === 0 || plain.byteLength === 0) ? plain : undefined
  return {
    status,
    headers: coded && readable ? withCoding(endToEnd, kept) : kept,
    body: readable ?? (plain && !coded ? redacted(plain, redact) : undefined),
  }
}

/** A coded body is of no use without the name of its coding. */
function withCoding(all: RawHeaders, kept: readonly string[]): string[] {
  const coding: string[] = []
  for (let i = 0; i < all.length; i += 2) {
    const name = all[i] as string
    if (name.toLowerCase() === 'content-encoding') coding.push(name, all[i + 1] as string)
  }
  return [
    ...kept.filter((_, i) => (kept[i - (i % 2)] as string).toLowerCase() !== 'content-encoding'),
    ...coding,
  ]
}
