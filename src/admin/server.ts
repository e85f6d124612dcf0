/**
 * The HTTP server of the admin port and of the control socket: what both hold of every request and every answer.
 *
 * Invariants: each answer has the security fields, whatever went wrong; an error is told in one sentence, and one that
 * is nobody's fault but the sidecar's own is not told at all, but logged.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { ActError } from '../gate/act-error.ts'
import { BackupRefused, StoreError } from '../store/mark-store.ts'
import { API_HEADERS } from './headers.ts'
import { parseBody } from './json-body.ts'
import { RequestError } from './request-error.ts'
import { compile } from './validation.ts'

const BODY_BYTES = 65_536
const HEAD_BYTES = 16_384
/** The longest task name, each of its characters escaped, and what is refused as longer. */
const MAX_PARAM_LENGTH = 4096

export interface ServerOptions {
  /** Told of an error that nobody expected. */
  readonly failed: (error: Error) => void
  /** From the first byte of a request to its last; and without a byte either way within a request. */
  readonly requestTimeoutMs: number
  readonly silenceMs: number
}

export function makeServer({ failed, requestTimeoutMs, silenceMs }: ServerOptions): FastifyInstance {
  const fastify = Fastify({
    logger: false,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    bodyLimit: BODY_BYTES,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: silenceMs,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Who sends no Host gets an answer like who sends a wrong one.
    http: { maxHeaderSize: HEAD_BYTES, headersTimeout: requestTimeoutMs, requireHostHeader: false },
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: (error, _request, reply) => fail(error, reply as unknown as FastifyReply, failed),
  })
  fastify.setValidatorCompiler(compile)
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => parseBody(body),
  )
  fastify.addHook('onRequest', async ({ raw }, reply) => {
    reply.headers(API_HEADERS)
    requireOneName(raw)
  })
  fastify.setErrorHandler((error: Error, { raw }, reply) => {
    // Else the rest of it would be read for nothing.
    if (!raw.complete && !isShort(raw)) reply.header('Connection', 'close')
    return fail(error, reply, failed)
  })
  fastify.setNotFoundHandler(({ method, url }) => {
    throw new RequestError(
      404,
      `there is no ${method} ${url.split('?')[0]}: /v1/openapi.json lists what there is`,
    )
  })
  return fastify
}

/** Whose access depends on the Host must not be asked for something by another name as well. */
function requireOneName({ url = '', rawHeaders }: IncomingMessage): void {
  if (!url.startsWith('/')) {
    throw new RequestError(400, 'the target is not a path: ask the sidecar itself, not as a proxy')
  }
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host')
  if (hosts.length > 1) throw new RequestError(400, 'Host is there more than once: send one')
}

/** Whether what is left of the body is known to be no more than an act may say. */
function isShort({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? '0' : 'unknown')
  return Number(length) <= BODY_BYTES
}

function fail(error: Error & { statusCode?: number }, reply: FastifyReply, failed: ServerOptions['failed']) {
  const status = statusOf(error)
  if (status === 500) failed(error)
  const after = error instanceof RequestError ? error.retryAfter : status === 503 ? 1 : undefined
  if (after !== undefined) reply.header('Retry-After', String(after))
  const message = status === 500 ? 'the sidecar failed to answer: its log says why' : explained(status, error)
  return reply.code(status).headers(API_HEADERS).type('application/json').send({ error: message })
}

function statusOf(error: Error & { statusCode?: number }): number {
  if (error instanceof ActError || error instanceof BackupRefused) return 409
  if (error instanceof StoreError) return 503
  const { statusCode = 500 } = error
  return statusCode >= 400 && statusCode < 600 ? statusCode : 500
}

/** Where the framework says what is wrong, but not what to do. */
function explained(status: number, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'FST_ERR_BAD_URL')
    return 'the path has a "%" that escapes no UTF-8: write "%25" for that character'
  if (status === 413) return `the body is longer than ${BODY_BYTES} bytes: write a shorter one`
  if (status === 414) return 'the path is too long: the name of a task has 256 characters at most'
  if (status === 415) return 'the Content-Type is not application/json: send JSON, and say so'
  return message
}

const UNREADABLE: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', `the head is longer than ${HEAD_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not come whole in time'],
}

/** What is no HTTP request gets an answer, and the end of the connection. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, message] = UNREADABLE[error.code ?? ''] ?? ['400 Bad Request', 'this is no HTTP request']
  const body = JSON.stringify({ error: message })
  const fields = {
    ...API_HEADERS,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    Connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`)
}
