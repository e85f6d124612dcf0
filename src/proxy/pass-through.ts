/**
 * Everything that isn't fenced, by @fastify/http-proxy: no retry, no rewriting.
 *
 * Left to itself it would normalise the target, refuse or drop a GET's body, retry on 503, and pick its own
 * TLS and time-outs. So it is given a constant URL to look at, and a client that sends what was received.
 */
import { type IncomingMessage, METHODS, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Dispatcher } from 'undici'
import type { Refusal } from '../errors.ts'
import { answerHeaders, hasBody } from './headers.ts'
import { endedBeforeItBegan, notSent, outcomeUnknown } from './send-failures.ts'
import { Upload } from './upload.ts'
import { isCertificateError, type UpstreamPool } from './upstream.ts'

/** One unfenced request, as it goes upstream. */
export interface Passage {
  readonly upstream: UpstreamPool
  readonly method: string
  /** The target as received. */
  readonly target: string
  readonly headers: string[]
  /** How long the client may be silent within its body. */
  readonly silenceMs: number
  readonly refuse: (refusal: Refusal) => void
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void

const PASSAGE = Symbol('passage')

export class PassThrough {
  readonly #passages = new WeakMap<IncomingMessage, Passage>()
  readonly #fastify: FastifyInstance
  #handler: Handler | undefined

  constructor(createServer: () => Server, onClientError: (error: Error, socket: Socket) => void) {
    this.#fastify = Fastify({
      serverFactory: (handler) => {
        this.#handler = handler as Handler
        return createServer()
      },
      // The router sees this path only: what clients send need not be a URL that it understands.
      rewriteUrl: () => '/',
      clientErrorHandler: onClientError,
      logger: false,
      return503OnClosing: false,
      exposeHeadRoutes: false,
    })
    // No method has a body that fastify should parse.
    for (const method of METHODS) this.#fastify.addHttpMethod(method, { overrideExisting: true })
    this.#fastify.register(httpProxy, {
      upstream: 'http://resource.invalid',
      routes: ['/'],
      httpMethods: METHODS.filter((method) => method !== 'CONNECT'),
      proxyPayloads: false,
      internalRewriteLocationHeader: false,
      disableCache: true,
      disableRequestLogging: true,
      preRewrite: () => '/',
      retryMethods: [],
      undici: { request: send } as never,
      replyOptions: {
        retryDelay: () => null,
        rewriteRequestHeaders: (request) =>
          ({ [PASSAGE]: [this.#passages.get(request.raw as IncomingMessage), request.raw] }) as never,
        rewriteHeaders: (headers) => endToEndHeaders(headers),
        onError: (reply, { error }) => {
          const passage = this.#passages.get(reply.request.raw as IncomingMessage)
          reply.hijack()
          if (reply.raw.destroyed) return
          passage?.refuse(failure((error.cause ?? error) as Error, passage))
        },
      },
    })
  }

  async ready(): Promise<Server> {
    await this.#fastify.ready()
    return this.#fastify.server
  }

  handle(req: IncomingMessage, res: ServerResponse, passage: Passage): void {
    this.#passages.set(req, passage)
    res.sendDate = false
    this.#handler?.(req, res)
  }

  async close(): Promise<void> {
    await this.#fastify.close()
  }
}

type Callback = (error: Error | null, data?: Dispatcher.ResponseData) => void

/** Takes undici's place in @fastify/reply-from. */
function send(
  { headers }: { headers: Record<symbol, [Passage, IncomingMessage]> },
  callback: Callback,
): void {
  const [passage, req] = headers[PASSAGE] as [Passage, IncomingMessage]
  const left = new AbortController()
  req.socket.once('close', abort)
  function abort() {
    left.abort()
  }
  const upload = hasBody(req) ? new Upload(req, passage.silenceMs, () => true) : undefined
  const exchange = () =>
    passage.upstream
      .request({
        path: passage.target,
        method: passage.method,
        headers: passage.headers,
        body: (upload ?? null) as never,
        signal: left.signal,
      })
      .then((data) => {
        data.body.once('close', () => req.socket.off('close', abort))
        callback(null, data.statusCode === 304 ? withoutBody(data) : data)
      }, callback)
  if (upload) upload.whenBegun(exchange, callback)
  else exchange()
}

/** A 304 may say how long the representation is (RFC 9110, section 8.6); undici misses its body. */
function withoutBody(data: Dispatcher.ResponseData): Dispatcher.ResponseData {
  data.body.on('error', () => {}).resume()
  return { ...data, body: Readable.from([]) as never }
}

function endToEndHeaders(headers: Record<string, string | string[] | undefined>) {
  const raw = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((one) => [name, one]),
  )
  const kept: Record<string, string | string[]> = {}
  const end = answerHeaders(raw, false)
  for (let i = 0; i < end.length; i += 2) {
    const [name, value] = [end[i] as string, end[i + 1] as string]
    const before = kept[name]
    kept[name] = before === undefined ? value : [before, value].flat()
  }
  return kept
}

/** Errors of making a connection; after any other one the request may have been sent. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/

function failure(error: Error & { code?: string }, { upstream }: Passage): Refusal {
  const sent =
    !NOT_CONNECTED.test(error.code ?? '') && !isCertificateError(error) && !endedBeforeItBegan(error)
  return sent ? outcomeUnknown({}, error) : notSent({}, error, upstream.config.origin)
}
