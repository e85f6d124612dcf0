/**
 * A request's body on its way to the resource, and the place of the last check: `beforeFirstByte` runs in
 * the same turn in which undici writes the head, just before it.
 *
 * undici takes it for a stream. It is not the request itself, because undici destroys the stream it was
 * given when an exchange ends early, and the client's connection must outlive that.
 */
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'

export class TrailerError extends Error {
  override readonly name = 'TrailerError'
}

export class Upload extends EventEmitter {
  readonly #req: IncomingMessage
  readonly #beforeFirstByte: () => boolean
  #attached = false
  #started = false
  destroyed = false
  /** Bytes handed to undici. */
  bytes = 0
  /** Whether undici was given the whole body. */
  ended = false

  constructor(req: IncomingMessage, beforeFirstByte: () => boolean) {
    super()
    this.#req = req
    this.#beforeFirstByte = beforeFirstByte
  }

  /** Only there to be recognised: undici reads by events. */
  pipe(): never {
    throw new Error('an upload is read by its events')
  }

  resume(): this {
    if (this.destroyed) return this
    if (!this.#attached) {
      this.#attached = true
      this.#req.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError)
      this.#req.on('close', this.#onClose)
    }
    this.#req.resume()
    return this
  }

  pause(): this {
    this.#req.pause()
    return this
  }

  /** Lets go of the request; what is left of its body is for somebody else to read. */
  destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.#req.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError)
    this.#req.off('close', this.#onClose)
    process.nextTick(() => this.emit('close'))
    return this
  }

  #start(): boolean {
    if (this.#started) return true
    this.#started = true
    return this.#beforeFirstByte()
  }

  readonly #onData = (chunk: Buffer) => {
    if (!this.#start()) return
    this.bytes += chunk.length
    this.emit('data', chunk)
  }

  readonly #onEnd = () => {
    // undici can't send trailers; ending the message without them would drop them in silence.
    if (this.#req.rawTrailers.length > 0) {
      this.emit('error', new TrailerError('the request carries trailers, which cannot be forwarded'))
    } else if (this.#start()) {
      this.ended = true
      this.emit('end')
    }
  }

  readonly #onError = (error: Error) => {
    this.emit('error', error)
  }

  readonly #onClose = () => {
    if (!this.ended) this.emit('error', new Error('the client left before its body was complete'))
  }
}
