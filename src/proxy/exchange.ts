/** One request and its answer, as logs, metrics and spans see it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config, Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import type { Ending } from '../gate/admission.ts'
import type { Permit } from '../gate/permit.ts'
import { offeredUpgrades } from '../request/upgrade.ts'
import { readTraceparent, type Traceparent } from '../tracing/traceparent.ts'
import type { DataPortParts } from './data-port.ts'
import { reject } from './rejection.ts'
import type { RejectionLog } from './rejection-log.ts'

const MAX_LOGGED = 256
let lastRequest = 0

export class Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  /** The protocols that it offers to change the connection to. */
  readonly upgrades: readonly string[]
  /** Undefined until one is found. */
  route: Route | undefined
  /** Whether it needs a permit; what doesn't is no decision, and has no outcome that anybody counts. */
  fenced = false
  readonly #config: Config
  readonly #parts: DataPortParts
  readonly #rejectionLog: RejectionLog
  readonly #requestId: string
  readonly #trace: Traceparent | undefined
  readonly #startedAt: number
  #sentAt: number | undefined
  /** Counted once: what comes after the first isn't another decision. */
  #decision: string | undefined
  #outcome: string | undefined
  /** What has yet to end: the answer, and the exchange with the resource if there is one. */
  #open = 1

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    method: string,
    config: Config,
    parts: DataPortParts,
    rejectionLog: RejectionLog,
  ) {
    this.req = req
    this.res = res
    this.method = method
    this.upgrades = offeredUpgrades(req)
    this.#config = config
    this.#parts = parts
    this.#rejectionLog = rejectionLog
    this.#requestId = `${process.pid.toString(36)}-${(++lastRequest).toString(36)}`
    this.#trace = readTraceparent(req.headers.traceparent)
    this.#startedAt = parts.clock.now()
    res.once('close', () => {
      parts.metrics.requested(this.#routeName, parts.clock.now() - this.#startedAt, this.#trace)
      this.#close()
    })
  }

  /** It goes to the resource, and will have {@link ended}. */
  dispatched(): void {
    this.#open++
  }

  /** The write's first byte is about to leave. */
  sent(): void {
    this.#sentAt = this.#parts.clock.now()
    if (this.fenced && this.route?.mode !== 'observe') this.#decide('forwarded')
  }

  /** Answers the client with a refusal. */
  refuse(refusal: Refusal): void {
    this.#decide(refusal.code)
    const stale = refusal.code === 'stale-token'
    this.#rejectionLog.note(stale ? 'stale write rejected' : 'request refused', refusal, this.#client)
    const { refusalHeaders = {}, refusalFormat = 'problem' } = this.route ?? {}
    reject(this.req, this.res, refusal, {
      revealHighest: this.#config.revealHighest,
      headers: refusalHeaders,
      format: refusalFormat,
    })
  }

  /** The write was answered from the record, and not sent. */
  replayed(): void {
    this.#decide('replayed')
  }

  /** Under observe: what enforcing would have said. */
  readonly observed = (refusal: Refusal | undefined): void => {
    this.#decide(refusal ? `would-${refusal.code}` : 'forwarded')
    if (refusal) this.#rejectionLog.note('request would be refused', refusal, this.#client)
  }

  /** The write has ended and its permit is released. */
  ended(permit: Permit, ending: Ending, refusal: Refusal | undefined): void {
    if (this.fenced) this.#endWrite(permit, ending, refusal)
    this.#close()
  }

  #endWrite(permit: Permit, ending: Ending, refusal: Refusal | undefined): void {
    this.#outcome = ending.outcome
    const { metrics, clock, log } = this.#parts
    const upstreamMs = this.#sentAt === undefined ? undefined : clock.now() - this.#sentAt
    metrics.ended(this.#routeName, ending.outcome, upstreamMs)
    if (ending.outcome !== 'unknown') return
    const { task, token } = permit.claim
    log.warn(
      {
        task,
        token: token.toString(),
        reason: ending.reason,
        code: refusal?.code,
        detail: refusal?.detail,
        ...this.#client,
      },
      'outcome of a write is unknown',
    )
  }

  get #routeName(): string {
    return this.route?.name ?? 'none'
  }

  get #client() {
    const { headers, socket } = this.req
    return {
      requestId: this.#requestId,
      route: this.#routeName,
      client: socket.remoteAddress,
      userAgent: headers['user-agent']?.slice(0, MAX_LOGGED),
      traceparent: (headers.traceparent as string | undefined)?.slice(0, MAX_LOGGED),
    }
  }

  #decide(decision: string): void {
    if (this.#decision !== undefined) return
    this.#decision = decision
    this.#parts.metrics.decided(this.#routeName, decision, this.#trace)
  }

  /** The client has its answer, or left; or the resource's part is over. The later of them ends the span. */
  #close(): void {
    this.#open--
    if (this.#open > 0) return
    const { res } = this
    this.#parts.spans?.record({
      parent: this.#trace,
      durationMs: this.#parts.clock.now() - this.#startedAt,
      route: this.#routeName,
      method: this.method,
      status: res.headersSent ? res.statusCode : undefined,
      decision: this.#decision,
      outcome: this.#outcome,
    })
  }
}
