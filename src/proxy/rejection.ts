/**
 * The one renderer of refusals: RFC 9457 problem details with an RFC 9209 Proxy-Status, so that nobody takes
 * the resource's own 412 for a fencing rejection.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { serializeItem, Token } from 'structured-headers'
import { REFUSALS, type Refusal } from '../errors.ts'
import { hasBody } from './headers.ts'
import { endWhenRead } from './linger.ts'

/** Up to this many bytes of an unread body are read away so that the connection stays usable. */
const SHORT_BODY_BYTES = 64 * 1024

export interface RejectionOptions {
  readonly revealHighest: boolean
  /** Added as they are; from the route's `refusalHeaders`. */
  readonly headers: Readonly<Record<string, string>>
  /** What the route's clients can read; from the route's `refusalFormat`. */
  readonly format: 'problem' | 's3'
}

export interface Rendered {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

const PROXY_STATUS = new Map(
  Object.entries(REFUSALS).map(([code, { proxyError }]) => [
    code,
    serializeItem(
      new Token('fencegate'),
      new Map<string, Token | string>([
        ['error', new Token(proxyError)],
        ['details', code],
      ]),
    ),
  ]),
)

interface Body {
  readonly type: string
  readonly body: string
}

export function render(refusal: Refusal, options: RejectionOptions): Rendered {
  const asked = options.format === 's3' ? s3Error(refusal) : problem(refusal, options)
  const headers: Record<string, string> = {
    'Content-Type': asked.type,
    'Content-Length': String(Buffer.byteLength(asked.body)),
    'Proxy-Status': PROXY_STATUS.get(refusal.code) as string,
    'Cache-Control': 'no-store',
    ...options.headers,
  }
  if (refusal.retryAfterSeconds !== undefined) headers['Retry-After'] = String(refusal.retryAfterSeconds)
  return { status: refusal.status ?? REFUSALS[refusal.code].status, headers, body: asked.body }
}

/** RFC 9457. Tokens are JSON strings: a JSON number past 2^53 would be rounded by most readers. */
function problem(refusal: Refusal, options: RejectionOptions): Body {
  const { title, status, sent, retry } = REFUSALS[refusal.code]
  const body = JSON.stringify({
    type: `urn:fencegate:${refusal.code}`,
    title,
    status: refusal.status ?? status,
    detail: refusal.detail,
    code: refusal.code,
    task: refusal.task,
    token: refusal.token ? refusal.token.toString() : undefined,
    highest: options.revealHighest ? refusal.highest?.toString() : undefined,
    held: refusal.held,
    operation: refusal.operation,
    sent,
    retry,
    // SDKs of payment providers look for this member alone, and take an answer without it for a success.
    error: { type: 'fencing_error', code: refusal.code, message: refusal.detail },
  })
  return { type: 'application/problem+json', body }
}

/** What S3 answers with, so that its SDKs show the reason: a code and a message. */
function s3Error({ code, detail }: Refusal): Body {
  const body =
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<Error><Code>${code}</Code><Message>${escaped(detail)}</Message></Error>`
  return { type: 'application/xml', body }
}

/** The detail may quote what a client sent: no markup of its own, and no character that XML can't hold. */
function escaped(text: string): string {
  return text.replace(/[^ -~]|[<>&]/gu, (character) => {
    const code = character.codePointAt(0) as number
    return code < 32 ? ' ' : `&#${code};`
  })
}

/** Answers with a refusal. */
export function reject(
  req: IncomingMessage,
  res: ServerResponse,
  refusal: Refusal,
  options: RejectionOptions,
): void {
  answerEarly(req, res, render(refusal, options))
}

interface EarlyAnswer {
  readonly status: number
  /** By name; or names and values in turn. */
  readonly headers: Record<string, string> | string[]
  readonly body?: string | Uint8Array
}

/** An answer of the sidecar's own: the request's body need not have been read, and isn't waited for. */
export function answerEarly(
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body }: EarlyAnswer,
): void {
  const rest = unreadBody(req, res)
  if (rest !== 'none' && rest !== 'short') res.shouldKeepAlive = false
  // An answer that failed at its head may have left its reason behind.
  res.writeHead(status, STATUS_CODES[status] as string, headers)
  if (body !== undefined) res.write(body)
  if (rest === 'long') endWhenRead(req, res)
  else {
    res.end()
    req.resume()
  }
}

/**
 * `withheld`: the client waits for `100 Continue`, so what it sends next can't be told from a new request. `short`: it
 * can be read away behind the answer, which must not be the connection's last.
 */
function unreadBody(req: IncomingMessage, res: ServerResponse): 'none' | 'short' | 'withheld' | 'long' {
  if (req.complete || !hasBody(req)) return 'none'
  if (req.headers.expect !== undefined) return 'withheld'
  const short = Number(req.headers['content-length'] ?? Infinity) <= SHORT_BODY_BYTES
  return short && res.shouldKeepAlive ? 'short' : 'long'
}
