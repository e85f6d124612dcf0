/**
 * Passes the resource's answer on to the client as it comes: interim answers, head, body, trailers.
 *
 * Invariants: fields keep their order, case and duplicates; the client sets the speed; once the client has gone
 * nothing more is written, and whoever owns the exchange decides whether the rest is read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { AnswerSink } from './answer-sink.ts'
import { answerHeaders, decodeRaw } from './headers.ts'
import { endWhenRead } from './linger.ts'
import { Pace, type PaceLimits } from './pace.ts'

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
  /** While the client doesn't take what was written. */
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
    this.status = status
    if (this.#gone) return
    const res = this.#res
    const raw = decodeRaw(controller.rawHeaders)
    const headers = answerHeaders(raw, this.#chunked(raw, status))
    if (status < 200) {
      // Node 24 has no means of sending one; interim answers may be left out (RFC 9110, section 15.2).
      if (this.#req.httpVersion === '1.1' && 'writeInformation' in res) res.writeInformation(status, headers)
      return
    }
    // What is left of the body has nowhere to go; the next request could not be told from it.
    if (!this.#req.complete) headers.push('Connection', 'close')
    res.sendDate = false
    res.writeHead(status, printable(reason), headers)
    res.on('drain', this.#onDrain)
  }

  /** Whether the client gets the answer in chunks, which alone can be followed by trailers. */
  #chunked(raw: readonly string[], status: number): boolean {
    const bodiless = this.#method === 'HEAD' || status < 200 || status === 204 || status === 304
    return (
      !bodiless &&
      this.#req.httpVersion === '1.1' &&
      raw.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'transfer-encoding')
    )
  }

  data(controller: Controller, chunk: Buffer): void {
    if (this.#gone || this.#res.write(chunk)) return
    controller.pause()
    this.#pace ??= new Pace(this.#limits, this.#contended, () => this.#res.destroy())
  }

  /** The whole answer has come. */
  end(controller: Controller): void {
    if (this.#gone) return
    const trailers = decodeRaw(controller.rawTrailers)
    if (trailers.length > 0) this.#res.addTrailers(pairs(trailers))
    endWhenRead(this.#req, this.#res)
  }

  /** What Node has to write is with the system: the client has taken enough to go on. */
  readonly #onDrain = () => {
    this.#pace?.stop()
    this.#pace = undefined
    this.#controller?.resume()
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
