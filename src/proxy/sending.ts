/**
 * Sends one request to the resource and learns its outcome. Nothing else sends one, and it can't be called without
 * a permit; what isn't fenced comes with one that always says yes.
 *
 * ```
 *  queue ──▶ connected ──▶ begin() ──▶ head + body ──▶ answer ──▶ release
 *    │           │            │             │             │
 *    └ interrupted, client left: not-sent   └ cut, timed out, reset: unknown
 * ```
 *
 * Invariants: no byte is written unless `permit.begin()` said yes in the same turn; the request goes out at most
 * once, as received; the permit is released when the whole answer has come and the whole body has gone, or the
 * upstream connection is destroyed; a client that leaves after a write's body is complete changes nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Refusal } from '../errors.ts'
import { type Ending, NOT_SENT } from '../gate/admission.ts'
import type { Permit } from '../gate/permit.ts'
import type { UnknownReason } from '../journal/records.ts'
import type { AnswerSink } from './answer-sink.ts'
import { hasBody } from './headers.ts'
import { type AnswerRule, HeldAnswer } from './held-answer.ts'
import { Relay } from './relay.ts'
import { askForBody } from './request-body.ts'
import { notSent, outcomeUnknown, reasonOf } from './send-failures.ts'
import type { Tunnel } from './tunnel.ts'
import { cutShort } from './unsent.ts'
import { Upload, type UploadLimits } from './upload.ts'
import type { UpstreamPool } from './upstream.ts'

export interface Outgoing {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  readonly limits: UploadLimits
  readonly upstream: UpstreamPool
  /** The fields to send. */
  readonly headers: string[]
  /** Whether its outcome is of interest when its client has left: that of a fenced write is. */
  readonly outlivesClient: boolean
  /** Set for an attempt of an operation: its whole body is known, its answer kept back until it is on record. */
  readonly attempt?: { readonly body: Buffer; readonly answerRule: AnswerRule }
  /** Set if the connection may change to another protocol. */
  readonly tunnel: Tunnel | undefined
  /** Called once, when the first byte is about to be written. */
  readonly sent: () => void
  /** Answers the client; called at most once, and only if nothing of the resource's answer was passed on. */
  readonly refuse: (refusal: Refusal) => void
  /** Called once, after the release. */
  readonly ended: (ending: Ending, refusal: Refusal | undefined) => void
  /** Answers with these statuses don't tell the outcome. */
  readonly unknownStatuses: readonly number[]
}

export function send(permit: Permit, outgoing: Outgoing): void {
  new Sending(permit, outgoing).start()
}

type Controller = Dispatcher.DispatchController

class Sending implements Dispatcher.DispatchHandler {
  readonly #permit: Permit
  readonly #outgoing: Outgoing
  readonly #answer: AnswerSink
  readonly #held: HeldAnswer | undefined
  readonly #upload: Upload | undefined
  #controller: Controller | undefined
  #tunnel: Tunnel | undefined
  #clientGone = false
  #ended = false
  /** Why the write was stopped from this side. */
  #stopped: Refusal | undefined
  #cancelReadOn: NodeJS.Timeout | undefined

  constructor(permit: Permit, outgoing: Outgoing) {
    this.#permit = permit
    this.#outgoing = outgoing
    const { req, res, method, limits, upstream, attempt } = outgoing
    const contended = () => upstream.contended
    const relay = new Relay(req, res, method, limits, contended)
    if (attempt) this.#held = new HeldAnswer(relay, attempt.answerRule)
    this.#answer = this.#held ?? relay
    if (!attempt && hasBody(req)) this.#upload = new Upload(req, limits, contended, () => this.#begin())
  }

  start(): void {
    const { req, res } = this.#outgoing
    res.once('close', this.#onClientClose)
    this.#permit.onInterrupt((refusal) => this.#stop(refusal))
    if (this.#ended) return
    if (res.destroyed) {
      this.#onClientClose()
      return
    }
    const upload = this.#upload
    if (!upload) return this.#dispatch()
    askForBody(req, res)
    upload.whenBegun(
      () => this.#dispatch(),
      (error) => (req.destroyed ? this.#onClientClose() : this.#fail(error)),
    )
  }

  #dispatch(): void {
    if (this.#ended) return
    const { req, method, upstream, headers, tunnel } = this.#outgoing
    const body = (this.#outgoing.attempt?.body ?? this.#upload) as never
    const upgrade = tunnel && { upgrade: tunnel.protocol }
    try {
      upstream.dispatch({ path: req.url as string, method, headers, body, ...upgrade }, this)
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  /** A connection is there, and undici writes the head next: at once, or with the body's first chunk. */
  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#ended) {
      controller.abort(new Error('the write ended while it waited for a connection'))
      return
    }
    const slow = this.#upload?.slowSoFar
    if (slow) controller.abort(slow)
    else if (!this.#upload) this.#begin()
  }

  /** The last check. It fails only after an interruption, and that has ended the write already. */
  #begin(): boolean {
    const begun = this.#permit.begin()
    if (begun) this.#outgoing.sent()
    return begun
  }

  onResponseStart(controller: Controller, status: number, _parsed: unknown, reason?: string): void {
    // An answer to nothing, such as the 408 of an idle connection.
    if (!this.#permit.begun) return controller.abort(new Error('the resource answered before it was asked'))
    this.#answer.start(controller, status, reason)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#answer.data(controller, chunk)
  }

  onResponseEnd(controller: Controller): void {
    this.#answer.end(controller)
    // An answer that came before the end of the body: undici destroys the connection when this returns.
    if (this.#upload && !this.#upload.ended) setImmediate(() => this.#answered())
    else this.#answered()
  }

  /** The resource speaks another protocol from here on; the permit stays out until the connection has ended. */
  onRequestUpgrade(controller: Controller, _status: number, _parsed: unknown, resource: Duplex): void {
    const { tunnel, res } = this.#outgoing
    if (this.#ended || this.#clientGone || !tunnel) {
      resource.destroy()
      return this.#fail(new Error('the client left'))
    }
    res.off('close', this.#onClientClose)
    this.#tunnel = tunnel
    tunnel.open(resource, controller.rawHeaders, (error) => (error ? this.#fail(error) : this.#answered()))
  }

  #answered(): void {
    const unknown = this.#outgoing.unknownStatuses.includes(this.#answer.status)
    const answer = this.#held?.answer
    this.#end(unknown ? this.#unknown('status') : { outcome: 'answered', answer }, undefined)
  }

  onResponseError(controller: Controller, error: Error & { code?: string }): void {
    // A 304 may say how long the representation is (RFC 9110, section 8.6), a 204 should not; undici misses a body.
    const { status } = this.#answer
    if ((status === 304 || status === 204) && error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
      this.onResponseEnd(controller)
    else this.#fail(error)
  }

  /** The exchange failed: what is known is whether bytes of it left. */
  #fail(error: Error): void {
    // What needs no claim has an empty one.
    const claim = this.#permit.claim.task === '' ? {} : this.#permit.claim
    const { origin } = this.#outgoing.upstream.config
    if (!this.#permit.begun) {
      this.#end(NOT_SENT, this.#stopped ?? notSent(claim, error, origin))
    } else if (this.#stopped) {
      this.#end(this.#unknown(this.#stopped.code === 'task-frozen' ? 'frozen' : 'superseded'), this.#stopped)
    } else {
      const reason = this.#clientGone && !this.#bodySent ? 'client-left' : reasonOf(error)
      this.#end(this.#unknown(reason), outcomeUnknown(claim, error))
    }
  }

  get #bodySent(): boolean {
    return this.#upload?.ended ?? true
  }

  #unknown(reason: UnknownReason): Ending {
    const whole = this.#outgoing.attempt?.body.byteLength ?? 0
    return { outcome: 'unknown', reason, bytesSent: this.#upload?.bytes ?? whole }
  }

  /** The gate wants it to end: a permit that hasn't begun never will, one that has loses its connection. */
  #stop(refusal: Refusal): void {
    this.#stopped = refusal
    if (!this.#permit.begun) this.#end(NOT_SENT, refusal)
    const error = new Error(refusal.code)
    if (this.#tunnel) this.#tunnel.cut(error)
    else this.#controller?.abort(error)
  }

  readonly #onClientClose = () => {
    const { req, upstream, outlivesClient } = this.#outgoing
    this.#answer.leave()
    if (this.#ended) return
    this.#clientGone = true
    if (!this.#permit.begun || !outlivesClient || !(this.#bodySent || req.complete)) {
      if (!this.#permit.begun) this.#end(NOT_SENT, undefined)
      this.#controller?.abort(new Error('the client left'))
      return
    }
    // Read on, to learn the outcome; but not for ever, if the answer never ends.
    this.#cancelReadOn = setTimeout(
      () => this.#controller?.abort(new Error('the answer did not end in time')),
      upstream.config.headersTimeoutMs + upstream.config.bodyTimeoutMs,
    )
  }

  #end(ending: Ending, refusal: Refusal | undefined): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#cancelReadOn)
    const { req, res, refuse, ended } = this.#outgoing
    // What is left of the body is read away by whoever answers.
    this.#upload?.destroy()
    if (refusal) this.#held?.giveUp()
    // Whatever becomes of the answer, the permit must not stay out.
    this.#permit.release(ending, () => this.#held?.recorded())
    ended(ending, refusal)
    if (refusal && !this.#clientGone && !this.#tunnel) {
      // A head that was passed on can't be taken back: cutting the connection says that the answer isn't whole.
      if (res.headersSent) cutShort(req, res)
      else refuse(refusal)
    }
  }
}
