/** One request and its answer, as logs and metrics see it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config, Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import type { Ending } from '../gate/admission.ts'
import type { Permit } from '../gate/permit.ts'
import { offeredUpgrades } from '../request/upgrade.ts'
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
  #sentAt: number | undefined
  /** Counted already, so that what comes after isn't another decision. */
  #decided = false

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
    const started = parts.clock.now()
    res.once('close', () => parts.metrics.requested(this.#routeName, parts.clock.now() - started))
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
    if (!this.fenced) return
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
    if (this.#decided) return
    this.#decided = true
    this.#parts.metrics.decided(this.#routeName, decision)
  }
}
