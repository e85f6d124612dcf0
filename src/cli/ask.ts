/** Questions and acts put to the running sidecar: the answer, or why there is none, with the exit code for it. */
import os from 'node:os'
import { EXIT, ExitError } from '../errors.ts'
import { plain } from './control.ts'
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
export function userName(): string {
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

/** What the sidecar's own sentence leaves open: the options of these commands. */
const REMEDIES: Readonly<Record<number, string>> = {
  401: '--token-file names the file that the token stands in.',
  403: 'With --data or --config, on its host, commands use that socket.',
  421: 'Or give a token with --token-file.',
}

function refusalOf(endpoint: Endpoint, { status }: Reply, error: string): ExitError {
  const remedy = endpoint.kind === 'server' ? REMEDIES[status] : undefined
  const sentence = plain(remedy === undefined ? error : `${error.replace(/\.?$/, '.')} ${remedy}`)
  return new ExitError(status >= 500 || status === 429 ? EXIT.unavailable : EXIT.usage, sentence)
}
