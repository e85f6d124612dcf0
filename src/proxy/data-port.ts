/**
 * The data port. The handler is one ladder: request -> route -> claim -> gate -> permit -> send -> release.
 */
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Config, Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { Admission, type WriteRule } from '../gate/admission.ts'
import type { Gate } from '../gate/gate.ts'
import { observe, unclaimed } from '../gate/observed.ts'
import type { Permit } from '../gate/permit.ts'
import type { WriteFacts } from '../journal/records.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { readClaim } from '../request/claim.ts'
import type { RequestHead, RouteMatched } from '../request/route-match.ts'
import { Router } from '../request/router.ts'
import { answerAnnouncement, isOwn, readAnnouncement } from './announce.ts'
import { ClientConnections } from './client-connections.ts'
import { Exchange } from './exchange.ts'
import { sendFenced } from './fenced-write.ts'
import { lookAtFirstMethod, takeMethod } from './first-method.ts'
import { RequestHeaders } from './headers.ts'
import { PassThrough } from './pass-through.ts'
import { RejectionLog } from './rejection-log.ts'
import { NO_TRAILERS } from './send-failures.ts'
import { type UpstreamPool, type UpstreamState, Upstreams } from './upstream.ts'
import { writeFacts } from './write-facts.ts'

export interface DataPortParts {
  readonly config: Config
  readonly gate: Gate
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** What a route needs at each request, made once. */
interface RouteTools {
  readonly upstream: UpstreamPool
  readonly headers: RequestHeaders
  readonly rule: WriteRule
  readonly facts: (exchange: Exchange) => WriteFacts
}

export class DataPort {
  readonly #parts: DataPortParts
  readonly #router: Router
  readonly #upstreams = new Upstreams()
  readonly #tools = new Map<Route, RouteTools>()
  readonly #passThrough: PassThrough
  readonly #rejectionLog: RejectionLog
  readonly #connections: ClientConnections
  #server: Server | undefined
  #closing = false

  constructor(parts: DataPortParts) {
    this.#parts = parts
    const { config, log, clock } = parts
    this.#router = new Router(config.routes)
    this.#rejectionLog = new RejectionLog(log, clock)
    this.#connections = new ClientConnections(log, config.revealHighest)
    this.#passThrough = new PassThrough(
      () => this.#createServer(),
      (error, socket) => this.#connections.failed(error, socket),
    )
    for (const route of config.routes) {
      this.#tools.set(route, {
        upstream: this.#upstreams.of(route.upstream),
        headers: new RequestHeaders(route.upstream, route.forwardClaim, config.claim),
        rule: {
          handover: route.handover,
          holds: route.onUnknown === 'hold',
          intent: route.intent === 'durable',
        },
        facts: (exchange) => writeFacts(exchange, route, config),
      })
    }
  }

  get upstreams(): UpstreamState[] {
    return this.#upstreams.states
  }

  /** Client connections that wait for an answer. */
  get owed(): number {
    return this.#connections.owed
  }

  /** Binds the port; resolves to the address that was taken. */
  async listen(): Promise<{ host: string; port: number }> {
    const { host, port } = this.#parts.config.listen
    const server = await this.#passThrough.ready()
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, resolve)
    })
    const address = server.address() as { address: string; port: number }
    return { host: address.address, port: address.port }
  }

  /** Takes no new connections; those that are open close with their next answer. */
  stopAccepting(): void {
    this.#closing = true
    this.#server?.close()
    this.#server?.closeIdleConnections()
  }

  /** Cuts what is left, on both sides. */
  async close(): Promise<void> {
    this.#server?.closeAllConnections()
    await this.#upstreams.destroy()
    await this.#passThrough.close()
    this.#rejectionLog.flush()
  }

  #createServer(): Server {
    const { limits } = this.#parts.config
    const server = http.createServer(
      {
        maxHeaderSize: limits.headSizeBytes,
        headersTimeout: limits.headTimeoutMs,
        // A body may take as long as it likes: a successor is not kept out by it longer than drainLimit.
        requestTimeout: 0,
        keepAliveTimeout: limits.idleTimeoutMs,
        connectionsCheckingInterval: Math.min(1000, limits.headTimeoutMs),
        insecureHTTPParser: false,
        // Node's own answer would have no body, and it takes two of them.
        requireHostHeader: false,
        noDelay: true,
      },
      (req, res) => this.#take(req, res),
    )
    // Node drops header fields past this number without a word; the head's size is the limit that counts.
    server.maxHeadersCount = 0
    lookAtFirstMethod(server, limits.headTimeoutMs)
    server.on('connect', (_req, socket) => this.#connections.tunnel(socket as Socket))
    server.on('checkContinue', (req, res) => this.#take(req, res))
    server.on('checkExpectation', (req, res) => this.#take(req, res))
    return server
  }

  #take(req: IncomingMessage, res: ServerResponse): void {
    const exchange = new Exchange(req, res, takeMethod(req), this.#parts, this.#rejectionLog)
    this.#connections.take(req, res, () => this.#handle(exchange))
  }

  #handle(exchange: Exchange): void {
    const { req, res } = exchange
    if (this.#closing) res.shouldKeepAlive = false
    const malformed = malformedHead(req)
    if (malformed) {
      res.shouldKeepAlive = false
      return exchange.refuse(malformed)
    }
    const target = req.url as string
    const head = { method: exchange.method, target, rawHeaders: req.rawHeaders }
    if (isOwn(target)) return void this.#announce(exchange, head)
    const matched = this.#router.match(head)
    if ('refusal' in matched) return exchange.refuse(matched.refusal)
    exchange.route = matched.route
    const unsupported = unsupportedFraming(req)
    if (unsupported) return exchange.refuse(unsupported)
    if (!matched.fenced) return this.#pass(exchange, target)
    const claimed = readClaim(head, matched, this.#parts.config.claim)
    void this.#fence(exchange, matched, claimed)
  }

  async #announce(exchange: Exchange, head: RequestHead): Promise<void> {
    const unsupported = unsupportedFraming(exchange.req)
    if (unsupported) return exchange.refuse(unsupported)
    const announced = readAnnouncement(head, this.#router, this.#parts.config.claim)
    if ('refusal' in announced) return exchange.refuse(announced.refusal)
    const refusal = await this.#parts.gate.announce(announced.claim)
    if (refusal) return exchange.refuse(refusal)
    answerAnnouncement(exchange.req, exchange.res, announced.claim.token)
  }

  async #fence(
    exchange: Exchange,
    { route }: RouteMatched,
    claimed: ReturnType<typeof readClaim>,
  ): Promise<void> {
    const { gate } = this.#parts
    if (route.mode === 'observe') {
      const permit = 'refusal' in claimed ? unclaimed() : observe(gate, claimed.claim, exchange.observed)
      if ('refusal' in claimed) exchange.observed(claimed.refusal)
      return this.#send(permit, exchange, route)
    }
    if ('refusal' in claimed) return exchange.refuse(claimed.refusal)
    if (exchange.req.headers.trailer !== undefined) return exchange.refuse(NO_TRAILERS)
    const { rule, facts } = this.#tools.get(route) as RouteTools
    const admitted = await gate.admit(new Admission(claimed.claim, rule, facts(exchange)))
    if ('code' in admitted) return exchange.refuse(admitted)
    this.#send(admitted, exchange, route)
  }

  #send(permit: Permit, exchange: Exchange, route: Route): void {
    const { upstream, headers } = this.#tools.get(route) as RouteTools
    const { req, res } = exchange
    sendFenced(permit, {
      req,
      res,
      method: exchange.method,
      upstream,
      headers: headers.of(req),
      silenceMs: this.#parts.config.limits.idleTimeoutMs,
      unknownStatuses: route.unknownStatuses,
      sent: () => exchange.sent(),
      refuse: (refusal) => exchange.refuse(refusal),
      ended: (ending, refusal) => exchange.ended(permit, ending, refusal),
    })
  }

  #pass(exchange: Exchange, target: string): void {
    const { upstream, headers } = this.#tools.get(exchange.route as Route) as RouteTools
    const { req, res } = exchange
    if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue()
    const refuse = (refusal: Refusal) => exchange.refuse(refusal)
    this.#passThrough.handle(req, res, {
      method: exchange.method,
      upstream,
      target,
      headers: headers.of(req),
      silenceMs: this.#parts.config.limits.idleTimeoutMs,
      refuse,
    })
  }
}

/** What Node's parser lets pass, and RFC 9112 (sections 2.3 and 3.2) does not. */
function malformedHead({ httpVersion, rawHeaders }: IncomingMessage): Refusal | undefined {
  const hosts = rawHeaders.filter(
    (name, i) => i % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host',
  ).length
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return {
      code: 'malformed-request',
      detail: 'Only HTTP/1.1 and HTTP/1.0 are spoken here. Nothing was sent.',
    }
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return {
      code: 'malformed-request',
      detail: `The request has ${hosts} Host headers. Send exactly one. Nothing was sent.`,
    }
  }
  return undefined
}

/** What would change its meaning on the way, so it isn't taken (RFC 9110, section 10.1.1; RFC 9112, 6.1). */
function unsupportedFraming(req: IncomingMessage): Refusal | undefined {
  const { expect, 'transfer-encoding': coding } = req.headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return {
      code: 'unsupported-expectation',
      detail: 'Only Expect: 100-continue is supported. Nothing was sent.',
    }
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return {
      code: 'unsupported-coding',
      detail: 'Only Transfer-Encoding: chunked is supported, once and alone. Nothing was sent.',
    }
  }
  return undefined
}
