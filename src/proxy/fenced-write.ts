/**
 * Sends one fenced write and learns its outcome. Nothing else sends one, and it can't be called without a
 * permit.
 *
 * ```
 *  queue ──▶ connected ──▶ begin() ──▶ head + body ──▶ answer ──▶ release
 *    │           │            │             │             │
 *    └ interrupted, client left: not-sent   └ cut, timed out, reset: unknown
 * ```
 *
 * Invariants: no byte is written unless `permit.begin()` said yes in the same turn; the write goes out at
 * most once; the permit is released when the whole answer has come and the whole body has gone, or the
 * upstream connection is destroyed; a client that leaves after its body is complete changes nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Refusal } from '../errors.ts'
import type { Ending } from '../gate/admission.ts'
import type { Permit } from '../gate/permit.ts'
import type { UnknownReason } from '../journal/records.ts'
import { answerHeaders, decodeRaw, hasBody } from './headers.ts'
import { endWhenRead } from './linger.ts'
import { notSent, outcomeUnknown, reasonOf } from './send-failures.ts'
import { Upload } from './upload.ts'
import type { UpstreamPool } from './upstream.ts'

export interface Write {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  /** How long the client may be silent within its body. */
  readonly silenceMs: number
  readonly upstream: UpstreamPool
  /** The fields to send. */
  readonly headers: string[]
  /** Called once, when the first byte is about to be written. */
  readonly sent: () => void
  /** Answers the client; called at most once, and only if nothing of the resource's answer was passed on. */
  readonly refuse: (refusal: Refusal) => void
  /** Called once, after the release. */
  readonly ended: (ending: Ending, refusal: Refusal | undefined) => void
  /** Answers with these statuses don't tell the outcome. */
  readonly unknownStatuses: readonly number[]
}

export function sendFenced(permit: Permit, write: Write): void {
  new FencedWrite(permit, write).start()
}

type Controller = Dispatcher.DispatchController

/** Interim answers (RFC 9110, section 15.2) that one exchange may have. */
const MAX_INTERIM = 64

const NOT_SENT: Ending = { outcome: 'not-sent' }

class FencedWrite implements Dispatcher.DispatchHandler {
  readonly #permit: Permit
  readonly #write: Write
  readonly #upload: Upload | undefined
  #controller: Controller | undefined
  #status = 0
  #interim = 0
  #clientGone = false
  #ended = false
  /** Why the write was stopped from this side. */
  #stopped: Refusal | undefined
  #cancelReadOn: NodeJS.Timeout | undefined

  constructor(permit: Permit, write: Write) {
    this.#permit = permit
    this.#write = write
    if (hasBody(write.req)) this.#upload = new Upload(write.req, write.silenceMs, () => this.#begin())
  }

  start(): void {
    const { req, res } = this.#write
    res.once('close', this.#onClientClose)
    this.#permit.onInterrupt((refusal) => this.#stop(refusal))
    if (this.#ended) return
    if (res.destroyed) {
      this.#onClientClose()
      return
    }
    const upload = this.#upload
    if (!upload) return this.#dispatch()
    if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue()
    upload.whenBegun(
      () => this.#dispatch(),
      (error) => (req.destroyed ? this.#onClientClose() : this.#fail(error)),
    )
  }

  #dispatch(): void {
    if (this.#ended) return
    const { req, method, upstream, headers } = this.#write
    try {
      upstream.dispatch({ path: req.url as string, method, headers, body: this.#upload as never }, this)
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
    if (!this.#upload) this.#begin()
  }

  /** The last check. It fails only after an interruption, and that has ended the write already. */
  #begin(): boolean {
    const begun = this.#permit.begin()
    if (begun) this.#write.sent()
    return begun
  }

  onResponseStart(controller: Controller, status: number, _parsed: unknown, reason?: string): void {
    // An answer to nothing, such as the 408 of an idle connection.
    if (!this.#permit.begun) return controller.abort(new Error('the resource answered before it was asked'))
    if (status < 200 && ++this.#interim > MAX_INTERIM) {
      return controller.abort(new Error('the resource sent interim answers without end'))
    }
    this.#status = status
    if (this.#clientGone) return
    const { res } = this.#write
    const raw = decodeRaw(controller.rawHeaders)
    const headers = answerHeaders(raw, this.#chunked(raw, status))
    if (status < 200) {
      // Node 24 has no means of sending one; interim answers may be left out (RFC 9110, section 15.2).
      if (this.#write.req.httpVersion === '1.1' && 'writeInformation' in res)
        res.writeInformation(status, headers)
      return
    }
    // What is left of the body has nowhere to go; the next request could not be told from it.
    if (!this.#write.req.complete) headers.push('Connection', 'close')
    res.sendDate = false
    res.writeHead(status, printable(reason), headers)
    res.on('drain', this.#onClientDrain)
  }

  /** Whether the client gets the answer in chunks, which alone can be followed by trailers. */
  #chunked(raw: readonly string[], status: number): boolean {
    const { req, method } = this.#write
    const bodiless = method === 'HEAD' || status < 200 || status === 204 || status === 304
    return (
      !bodiless &&
      req.httpVersion === '1.1' &&
      raw.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'transfer-encoding')
    )
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (!this.#clientGone && !this.#write.res.write(chunk)) controller.pause()
  }

  onResponseEnd(controller: Controller): void {
    const { req, res } = this.#write
    if (!this.#clientGone) {
      const trailers = decodeRaw(controller.rawTrailers)
      if (trailers.length > 0) res.addTrailers(pairs(trailers))
      endWhenRead(req, res)
    }
    // An answer that came before the end of the body: undici destroys the connection when this returns.
    if (this.#upload && !this.#upload.ended) setImmediate(() => this.#answered())
    else this.#answered()
  }

  #answered(): void {
    const unknown = this.#write.unknownStatuses.includes(this.#status)
    this.#end(unknown ? this.#unknown('status') : { outcome: 'answered' }, undefined)
  }

  onResponseError(controller: Controller, error: Error & { code?: string }): void {
    // A 304 may say how long the representation is (RFC 9110, section 8.6); undici misses its body.
    if (this.#status === 304 && error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
      this.onResponseEnd(controller)
    else this.#fail(error)
  }

  /** The exchange failed: what is known is whether bytes of it left. */
  #fail(error: Error): void {
    const { claim } = this.#permit
    const { origin } = this.#write.upstream.config
    if (!this.#permit.begun) {
      this.#end(NOT_SENT, this.#stopped ?? notSent(claim, error, origin))
    } else if (this.#stopped) {
      this.#end(this.#unknown('superseded'), this.#stopped)
    } else {
      const reason = this.#clientGone && !this.#bodySent ? 'client-left' : reasonOf(error)
      this.#end(this.#unknown(reason), outcomeUnknown(claim, error))
    }
  }

  get #bodySent(): boolean {
    return this.#upload?.ended ?? true
  }

  #unknown(reason: UnknownReason): Ending {
    return { outcome: 'unknown', reason, bytesSent: this.#upload?.bytes ?? 0 }
  }

  /** The gate wants it to end: a permit that hasn't begun never will, one that has loses its connection. */
  #stop(refusal: Refusal): void {
    this.#stopped = refusal
    if (!this.#permit.begun) this.#end(NOT_SENT, refusal)
    this.#controller?.abort(new Error(refusal.code))
  }

  readonly #onClientDrain = () => {
    this.#controller?.resume()
  }

  readonly #onClientClose = () => {
    const { req, upstream } = this.#write
    if (this.#ended) return
    this.#clientGone = true
    if (!this.#permit.begun || !(this.#bodySent || req.complete)) {
      if (!this.#permit.begun) this.#end(NOT_SENT, undefined)
      this.#controller?.abort(new Error('the client left'))
      return
    }
    // Read on, to learn the outcome; but not for ever, if the answer never ends.
    this.#controller?.resume()
    this.#cancelReadOn = setTimeout(
      () => this.#controller?.abort(new Error('the answer did not end in time')),
      upstream.config.headersTimeoutMs + upstream.config.bodyTimeoutMs,
    )
  }

  #end(ending: Ending, refusal: Refusal | undefined): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#cancelReadOn)
    const { res, refuse, ended } = this.#write
    res.off('close', this.#onClientClose)
    // What is left of the body is read away by whoever answers.
    this.#upload?.destroy()
    // Whatever becomes of the answer, the permit must not stay out.
    this.#permit.release(ending)
    ended(ending, refusal)
    if (refusal && !this.#clientGone) {
      // A head that was passed on can't be taken back: cutting the connection says that the answer isn't whole.
      if (res.headersSent) res.destroy()
      else refuse(refusal)
    }
  }
}

/** undici reads the reason as UTF-8; what was no UTF-8 can't be written again. */
function printable(reason: string | undefined): string {
  return reason !== undefined && /^[\t -~\x80-\xff]*$/.test(reason) ? reason : ''
}

function pairs(raw: string[]): [string, string][] {
  const list: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) list.push([raw[i] as string, raw[i + 1] as string])
  return list
}
