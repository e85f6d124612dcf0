/**
 * Passes the resource's answer on to the client as it comes: interim answers, head, body, trailers.
 *
 * Invariants: fields keep their order, case and duplicates; the client sets the speed; once the client has gone
 * nothing more is written, and whoever owns the exchange decides whether the rest is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { AnswerSink } from './answer-sink.ts'
import { bodyPassed } from './body-memory.ts'
import { answerHeaders, decodeRaw, indexOf, valuesOf } from './headers.ts'
import { endWhenRead } from './linger.ts'
import { OF_ANSWER, Pace, type PaceLimits } from './pace.ts'
import { cutShort } from './unsent.ts'

type Controller = Dispatcher.DispatchController

/** Interim answers (RFC 9110, section 15.2) that one exchange may have. */
const MAX_INTERIM = 64

export class Relay implements AnswerSink {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #method: string
  readonly #limits: PaceLimits
  readonly #contended: () => boolean
  #interim = 0
  #gone = false
  /** Since the client has not taken at once what was written. */
  #pace: Pace | undefined
  #controller: Controller | undefined
  /** The last status that the resource gave; 0 before the first. */
  status = 0

  /** @param contended whether other requests wait for a connection to the resource. */
  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    method: string,
    limits: PaceLimits,
    contended: () => boolean,
  ) {
    this.#req = req
    this.#res = res
    this.#method = method
    this.#limits = limits
    this.#contended = contended
  }

  /** The client has gone: from now on the answer is read away. */
  leave(): void {
    this.#gone = true
    this.#pace?.stop()
    this.#controller?.resume()
  }

  start(controller: Controller, status: number, reason: string | undefined): void {
    this.#controller = controller
    if (status < 200 && ++this.#interim > MAX_INTERIM) {
      return controller.abort(new Error('the resource sent interim answers without end'))
    }
    const raw = decodeRaw(controller.rawHeaders)
    const codings = valuesOf(raw, 'transfer-encoding')
    const fault = faultOf(status, codings)
    if (fault) return controller.abort(new Error(fault))
    this.status = status
    if (this.#gone) return
    const res = this.#res
    const headers = answerHeaders(raw, codings.length > 0 && this.#chunks(status))
    if (status < 200) {
      // Node 24 has no means of sending one; interim answers may be left out (RFC 9110, section 15.2).
      if (this.#req.httpVersion === '1.1' && 'writeInformation' in res) res.writeInformation(status, headers)
      return
    }
    // What is left of the body has nowhere to go; the next request could not be told from it.
    if (!this.#req.complete) headers.push('Connection', 'close')
    res.sendDate = false
    res.writeHead(status, reasonAsReceived(reason), inNodesOrder(headers))
    res.on('drain', this.#onDrain)
  }

  /** Whether the client can get the answer in chunks, which alone can be followed by trailers. */
  #chunks(status: number): boolean {
    const bodiless = this.#method === 'HEAD' || status < 200 || status === 204 || status === 304
    return !bodiless && this.#req.httpVersion === '1.1'
  }

  data(controller: Controller, chunk: Buffer): void {
    bodyPassed(chunk.length)
    if (this.#gone) return
    this.#pace?.moved(chunk.length)
    if (this.#res.write(chunk)) return
    controller.pause()
    this.#pace ??= new Pace(OF_ANSWER, this.#limits, this.#contended, () => cutShort(this.#req, this.#res))
    this.#pace.resume()
  }

  /** The whole answer has come. */
  end(controller: Controller): void {
    this.#pace?.stop()
    if (this.#gone) return
    const trailers = decodeRaw(controller.rawTrailers)
    if (trailers.length > 0) this.#res.addTrailers(pairs(trailers))
    endWhenRead(this.#req, this.#res)
  }

  /** What Node has to write is with the system: the client has taken enough to go on. */
  readonly #onDrain = () => {
    this.#pace?.hold()
    this.#controller?.resume()
  }
}

/** What can't be passed on as it was meant, or `undefined`. */
function faultOf(status: number, codings: readonly string[]): string | undefined {
  if (status === 101) return 'the resource changed to another protocol unasked'
  // undici takes off the chunks and nothing else: the client would get the coded bytes and not be told.
  if (codings.length > 1 || codings.some((coding) => !/^(chunked|identity)$/i.test(coding.trim()))) {
    return 'the answer has a transfer coding that nobody asked for'
  }
  return undefined
}

/** undici reads the reason as UTF-8: its bytes again, or nothing if they were no UTF-8. */
function reasonAsReceived(reason = ''): string {
  const bytes = reason.includes('\ufffd') ? '' : Buffer.from(reason).toString('latin1')
  return /^[\t -~\x80-\xff]*$/.test(bytes) ? bytes : ''
}

/**
 * Node takes a Content-Disposition that stands behind a Content-Length for UTF-8, and changes its bytes or refuses
 * them: the length goes last then.
 */
function inNodesOrder(headers: string[]): string[] {
  if (indexOf(headers, 'content-disposition') < 0) return headers
  const length = indexOf(headers, 'content-length')
  return length < 0 ? headers : [...headers.toSpliced(length, 2), ...headers.slice(length, length + 2)]
}

function pairs(raw: string[]): [string, string][] {
  const list: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) list.push([raw[i] as string, raw[i + 1] as string])
  return list
}
