/** Questions and acts put to the running sidecar: the answer, or why there is none, with the exit code for it. */
import os from 'node:os'
import { EXIT, ExitError } from '../errors.ts'
import { type Endpoint, endpointOf, type SidecarOptions } from './endpoint.ts'
import { exchange, type Reply } from './exchange.ts'

/** Far above what the sidecar waits for its store: who doesn't answer by then is stopped or stuck. */
const ANSWER_MS = 30_000

export interface Author extends SidecarOptions {
  readonly by?: string
  readonly reason: string
}

/** Asks the sidecar once, as {@link askAt} does. */
export async function ask<T>(options: SidecarOptions, target: string): Promise<T> {
  return askAt(endpointOf(options), target)
}

/**
 * Asks the sidecar. Throws {@link ExitError}: 69 if it does not run or can't serve now, 64 if it says that
 * what was asked makes no sense, or is not for this caller.
 */
export async function askAt<T>(endpoint: Endpoint, target: string, timeoutMs = ANSWER_MS): Promise<T> {
  return answerOf(endpoint, await exchange(endpoint, 'GET', target, undefined, timeoutMs))
}

/** Has the sidecar do something, in the caller's name. Throws as {@link askAt} does. */
export async function tell<T>(options: Author, target: string, body: object = {}): Promise<T> {
  return tellAt(endpointOf(options), options, target, body)
}

/** @param timeoutMs Infinity: for as long as the connection lasts. */
export async function tellAt<T>(
  endpoint: Endpoint,
  { by, reason }: Author,
  target: string,
  body: object = {},
  timeoutMs = ANSWER_MS,
): Promise<T> {
  const signed = { ...authorOf(endpoint, by), reason, ...body }
  return answerOf(endpoint, await exchange(endpoint, 'POST', target, signed, timeoutMs))
}

function authorOf(endpoint: Endpoint, by: string | undefined): { by?: string } {
  if (endpoint.kind === 'socket') return { by: by ?? userName() }
  if (by === undefined) return {}
  throw new ExitError(
    EXIT.usage,
    "--by: at an admin port the author is the token's name: leave --by out, or use the token of that name",
  )
}

/** A container's user often has no name. */
function userName(): string {
  try {
    return os.userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}

export function answerOf<T>(endpoint: Endpoint, reply: Reply): T {
  if (reply.status >= 300 && reply.status < 400) throw redirected(endpoint, reply)
  const answer = parsed(endpoint, reply)
  if (reply.status < 300) return answer as T
  throw refusalOf(endpoint, reply, answer.error ?? answer.message ?? reply.text)
}

function parsed({ name }: Endpoint, { status, text }: Reply): { error?: string; message?: string } {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer === 'object' && answer !== null) return answer
  } catch {
    // What a proxy before it says is no JSON.
  }
  throw new ExitError(
    EXIT.unavailable,
    `what came from ${name} (status ${status}) is no answer of a sidecar: see that this is one's address`,
  )
}

function redirected({ name }: Endpoint, { status, headers }: Reply): ExitError {
  const elsewhere = URL.parse(headers.location ?? '', name)?.origin ?? 'nowhere'
  return new ExitError(EXIT.usage, `${name} answered ${status}, to ${elsewhere}: name that with --server`)
}

/** What its sentence leaves open is where this caller gets what is missing. */
function refusalOf(endpoint: Endpoint, { status, headers }: Reply, error: string): ExitError {
  const after = headers['retry-after']
  const wait = after === undefined ? 'again later' : `again in ${after} s`
  const remedies: Readonly<Record<number, string>> = {
    401: 'Name a file with one of the tokens of its admin.tokenFile with --token-file.',
    403: "On its host, the socket asks for no token: use --data or --config as the sidecar's user.",
    404: 'Is this a fencegate as new as this command, and is its admin.tokenFile configured?',
    421: 'Name the server by its address rather than by a name, or give a token with --token-file.',
    429: `Ask ${wait}, with a token that is one of its admin.tokenFile.`,
  }
  const isTask = status === 404 && /\btask\b|\brecord\b/.test(error)
  const remedy = endpoint.kind === 'server' && !isTask ? remedies[status] : undefined
  const sentence = /[.!?]$/.test(error) || remedy === undefined ? error : `${error}.`
  const exitCode = status >= 500 || status === 429 ? EXIT.unavailable : EXIT.usage
  return new ExitError(exitCode, remedy === undefined ? sentence : `${sentence} ${remedy}`)
}
