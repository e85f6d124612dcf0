/**
 * The data port. The handler is one ladder: request -> route -> claim -> gate -> permit -> send -> release.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Config, Limits, OnceRule, Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { Admission, NOT_SENT } from '../gate/admission.ts'
import type { Gate } from '../gate/gate.ts'
import { observe, unclaimed } from '../gate/observed.ts'
import type { Permit } from '../gate/permit.ts'
import type { Journal } from '../journal/journal.ts'
import { Sealing } from '../journal/sealing.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { readClaim } from '../request/claim.ts'
import { readOperation } from '../request/operation.ts'
import type { RequestHead } from '../request/route-match.ts'
import { NOT_ALONE, offeredUpgrades, upgradeRefusal } from '../request/upgrade.ts'
import { type Claim, NO_TOKEN } from '../token.ts'
import type { Spans } from '../tracing/spans.ts'
import { answerAnnouncement, isOwn, readAnnouncement } from './announce.ts'
import { ClientConnections } from './client-connections.ts'
import { type ClientServer, createClientServer, secureContext } from './client-server.ts'
import { Exchange } from './exchange.ts'
import { takeMethod } from './first-method.ts'
import { malformedHead, unsupportedBody, unsupportedTrailer } from './head-faults.ts'
import { hasBody } from './headers.ts'
import { attemptOnce, type ReadyAttempt } from './once.ts'
import { Plan } from './plan.ts'
import { RejectionLog } from './rejection-log.ts'
import { send } from './sending.ts'
import { Tunnel } from './tunnel.ts'
import { responseOn } from './upgrade-response.ts'
import type { UploadLimits } from './upload.ts'
import { type UpstreamState, Upstreams } from './upstream.ts'
import { writeFacts } from './write-facts.ts'

export interface DataPortParts {
  readonly config: Config
  readonly gate: Gate
  readonly journal: Journal
  readonly metrics: Metrics
  /** Undefined: nobody wants any. */
  readonly spans: Spans | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** A connection that the client wants to change, as Node hands it over. */
interface Switch {
  readonly socket: Socket
  readonly ahead: Buffer
}

export class DataPort {
  readonly #parts: DataPortParts
  readonly #upstreams = new Upstreams()
  readonly #rejectionLog: RejectionLog
  readonly #connections: ClientConnections
  readonly #server: ClientServer
  readonly #sealing: Sealing | undefined
  readonly #tunnels = new Set<Tunnel>()
  #plan: Plan
  /** The plan in force, and those before it that requests are still under. */
  readonly #plans = new Set<Plan>()
  #closing = false

  constructor(parts: DataPortParts) {
    this.#parts = parts
    const { config, log, clock } = parts
    this.#plan = new Plan(config, this.#upstreams)
    this.#plans.add(this.#plan)
    parts.metrics.expect(config.routes)
    this.#rejectionLog = new RejectionLog(log, clock, parts.journal)
    this.#sealing = config.operations.key && new Sealing(config.operations.key)
    this.#connections = new ClientConnections(this.#rejectionLog, config.limits)
    this.#server = createClientServer(config.limits, config.tls, this.#connections, {
      request: (req, res) => this.#take(req, res, undefined),
      mayUpgrade: (req) => this.#mayUpgrade(req),
      upgrade: (req, socket, ahead) => this.#take(req, responseOn(req, socket), { socket, ahead }),
      // Anybody can have as many of these as he likes.
      handshakeFailed: ({ message }, { remoteAddress }) =>
        log.debug({ reason: message, client: remoteAddress }, 'TLS handshake failed'),
    })
  }

  get upstreams(): UpstreamState[] {
    return [...this.#plan.pools].map((pool) => pool.state)
  }

  /** Client connections that wait for an answer. */
  get owed(): number {
    return this.#connections.owed
  }

  /** Binds the port; resolves to the address that was taken. */
  async listen(): Promise<{ host: string; port: number }> {
    const { host, port } = this.#parts.config.listen
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, resolve)
    })
    const address = this.#server.address() as { address: string; port: number }
    return { host: address.address, port: address.port }
  }

  /** From now on requests are taken by this configuration; those that have begun end by the one before. */
  reload(config: Config): void {
    const next = new Plan(config, this.#upstreams)
    if (config.tls) (this.#server as SecureServer).setSecureContext(secureContext(config.tls))
    const before = this.#plan
    this.#plan = next
    this.#plans.add(next)
    this.#parts.metrics.expect(config.routes)
    before.whenLeft(() => {
      this.#plans.delete(before)
      this.#upstreams.keep(new Set([...this.#plans].flatMap(({ pools }) => [...pools])))
    })
  }

  /** Takes no new connections; those that are open close with their next answer, upgraded ones now. */
  stopAccepting(): void {
    this.#closing = true
    this.#server.close()
    this.#server.closeIdleConnections()
    for (const tunnel of this.#tunnels) tunnel.cut(new Error('the sidecar stopped'))
  }

  /** Cuts what is left, on both sides. */
  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await this.#upstreams.destroy()
    this.#rejectionLog.flush()
  }

  /** Others are handled as if they had not asked, or told why they can't. */
  #mayUpgrade(req: IncomingMessage): boolean {
    return (
      this.#plan.allowsUpgrades &&
      req.method === 'GET' &&
      !hasBody(req) &&
      this.#connections.isIdle(req.socket) &&
      offeredUpgrades(req).length > 0
    )
  }

  #take(req: IncomingMessage, res: ServerResponse, change: Switch | undefined): void {
    const method = takeMethod(req)
    this.#connections.take(req, res, () => {
      // What waits behind another request goes by what is in force when its turn comes.
      const plan = this.#plan
      plan.enter()
      res.once('close', () => plan.leave())
      this.#handle(new Exchange(req, res, method, plan.config, this.#parts, this.#rejectionLog), plan, change)
    })
  }

  #handle(exchange: Exchange, plan: Plan, change: Switch | undefined): void {
    const { req, res } = exchange
    const { limits } = plan.config
    if (this.#closing) res.shouldKeepAlive = false
    const malformed = malformedHead(req, limits)
    if (malformed) {
      res.shouldKeepAlive = false
      return exchange.refuse(malformed)
    }
    const target = req.url as string
    const { method, upgrades } = exchange
    const head = { method, target, rawHeaders: req.rawHeaders, upgrades }
    if (isOwn(target)) return void this.#announce(exchange, plan, head)
    const matched = plan.router.match(head)
    if ('refusal' in matched) return exchange.refuse(matched.refusal)
    exchange.route = matched.route
    const unsupported = unsupportedBody(req, limits)
    if (unsupported) return exchange.refuse(unsupported)
    exchange.fenced = matched.fenced
    if (!matched.fenced) return this.#send(unclaimed(), exchange, plan, change)
    const claimed = readClaim(head, matched, plan.config.claim, matched.route.token)
    const forbidden = 'claim' in claimed ? plan.clients.refusal(req.socket, claimed.claim) : undefined
    void this.#fence(exchange, plan, forbidden ? { refusal: forbidden } : claimed, change)
  }

  async #announce(exchange: Exchange, plan: Plan, head: RequestHead): Promise<void> {
    const { req, res } = exchange
    const unsupported = unsupportedBody(req, plan.config.limits)
    if (unsupported) return exchange.refuse(unsupported)
    const announced = readAnnouncement(head, plan.router, plan.config.claim)
    if ('refusal' in announced) return exchange.refuse(announced.refusal)
    const { claim } = announced
    const refusal = plan.clients.refusal(req.socket, claim) ?? (await this.#parts.gate.announce(claim))
    if (refusal) return exchange.refuse(refusal)
    answerAnnouncement(req, res, claim.token)
  }

  async #fence(
    exchange: Exchange,
    plan: Plan,
    claimed: ReturnType<typeof readClaim>,
    change: Switch | undefined,
  ): Promise<void> {
    const { gate } = this.#parts
    const route = exchange.route as Route
    if (route.mode === 'observe') {
      const permit = 'refusal' in claimed ? unclaimed() : observe(gate, claimed.claim, exchange.observed)
      if ('refusal' in claimed) exchange.observed(claimed.refusal)
      return this.#send(permit, exchange, plan, change)
    }
    if ('refusal' in claimed) return exchange.refuse(claimed.refusal)
    if (route.once) return this.#once(exchange, plan, route.once, claimed.claim)
    const { rule, tunnelRule } = plan.of(route)
    const facts = writeFacts(exchange, route, plan.config)
    const admitted = await gate.admit(new Admission(claimed.claim, change ? tunnelRule : rule, facts))
    if ('code' in admitted) return exchange.refuse(admitted)
    this.#send(admitted, exchange, plan, change)
  }

  async #once(exchange: Exchange, plan: Plan, rule: OnceRule, claim: Claim): Promise<void> {
    const route = exchange.route as Route
    const { config } = plan
    const read = readOperation({ rawHeaders: exchange.req.rawHeaders }, config.claim)
    if ('refusal' in read) return exchange.refuse({ ...claim, ...read.refusal })
    const unsupported = whyNotSent(exchange, undefined)
    if (unsupported) return exchange.refuse(unsupported)
    if (claim.token === NO_TOKEN) this.#parts.metrics.unclaimed(route.name)
    await attemptOnce(this.#parts.gate, {
      exchange,
      route,
      rule,
      claim,
      key: read.key,
      facts: writeFacts(exchange, route, config),
      writeRule: plan.of(route).rule,
      limits: bodyLimits(config.limits),
      storeTimeoutMs: config.store.timeoutMs,
      sealing: this.#sealing,
      send: (permit, ready) => this.#dispatch(permit, exchange, plan, undefined, ready),
    })
  }

  #send(permit: Permit, exchange: Exchange, plan: Plan, change: Switch | undefined): void {
    const unsupported = whyNotSent(exchange, change)
    if (!unsupported) return this.#dispatch(permit, exchange, plan, change)
    permit.release(NOT_SENT)
    exchange.refuse(unsupported)
  }

  #dispatch(
    permit: Permit,
    exchange: Exchange,
    plan: Plan,
    change: Switch | undefined,
    attempt?: ReadyAttempt,
  ): void {
    const route = exchange.route as Route
    const { upstream, headers } = plan.of(route)
    const { limits } = plan.config
    const { req, res } = exchange
    exchange.dispatched()
    send(permit, {
      req,
      res,
      method: exchange.method,
      upstream,
      headers: headers.of(req, exchange.method, attempt?.providerKey),
      limits: bodyLimits(limits),
      ...(attempt && { attempt }),
      tunnel: change && this.#tunnel(change, exchange.upgrades[0] as string, limits.idleTimeoutMs),
      outlivesClient: exchange.fenced,
      unknownStatuses: route.unknownStatuses,
      sent: () => exchange.sent(),
      refuse: (refusal) => exchange.refuse(refusal),
      ended: (ending, refusal) => exchange.ended(permit, ending, refusal),
    })
  }

  #tunnel({ socket, ahead }: Switch, protocol: string, lingerMs: number): Tunnel {
    const tunnel = new Tunnel(protocol, socket, ahead, lingerMs)
    this.#tunnels.add(tunnel)
    socket.once('close', () => this.#tunnels.delete(tunnel))
    return tunnel
  }
}

function bodyLimits({ idleTimeoutMs, bodyRateBytesPerSecond, bodySizeBytes }: Limits): UploadLimits {
  return {
    silenceMs: idleTimeoutMs,
    bytesPerSecond: bodyRateBytesPerSecond,
    bodySize: bodySizeBytes ?? Infinity,
  }
}

/** What can't be sent on. Looked at last where a token is asked for, so that a stale holder is told that it is stale. */
function whyNotSent({ req, upgrades, route }: Exchange, change: Switch | undefined): Refusal | undefined {
  const trailer = unsupportedTrailer(req)
  if (trailer || upgrades.length === 0) return trailer
  return upgradeRefusal(upgrades, route as Route) ?? (change ? undefined : NOT_ALONE)
}
