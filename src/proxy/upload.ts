/**
 * A request's body on its way to the resource, and the place of the last check: `beforeFirstByte` runs in
 * the same turn in which undici writes the head, just before it.
 *
 * undici takes it for a stream. It is not the request itself, because undici destroys the stream it was
 * given when an exchange ends early, and the client's connection must outlive that.
 */
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'

/** The client's own fault, within its body. */
class BodyError extends Error {
  /** Bytes of the body that undici was given. */
  readonly bytes: number

  constructor(message: string, bytes: number) {
    super(message)
    this.bytes = bytes
  }
}

/** undici can't send trailers; ending the message without them would drop them in silence. */
export class TrailerError extends BodyError {
  override readonly name = 'TrailerError'
}

/** The client is there, and says nothing. */
export class SilenceError extends BodyError {
  override readonly name = 'SilenceError'
}

export class Upload extends EventEmitter {
  readonly #req: IncomingMessage
  readonly #beforeFirstByte: () => boolean
  readonly #silence: NodeJS.Timeout
  #attached = false
  #started = false
  destroyed = false
  /** Where a failure goes before undici listens. */
  #failed: ((error: Error) => void) | undefined
  #stopWaiting: (() => void) | undefined
  /** Bytes handed to undici. */
  bytes = 0
  /** Whether undici was given the whole body. */
  ended = false

  /** @param silenceMs how long the client may send nothing before the upload fails. */
  constructor(req: IncomingMessage, silenceMs: number, beforeFirstByte: () => boolean) {
    super()
    this.#req = req
    this.#beforeFirstByte = beforeFirstByte
    this.#silence = setTimeout(() => this.#onSilence(), silenceMs)
  }

  /**
   * Calls `ready` once the first bytes of the body, or its end, are there: only then is a connection to the
   * resource of use. `left` is called if they never come.
   */
  whenBegun(ready: () => void, left: (error: Error) => void): void {
    const req = this.#req
    const stop = () => {
      req.off('readable', begun).off('end', begun).off('error', failed).off('close', failed)
      this.#failed = undefined
      this.#stopWaiting = undefined
    }
    this.#stopWaiting = stop
    const begun = () => {
      stop()
      ready()
    }
    const failed = (error: Error = new Error('the client left before its body began')) => {
      stop()
      left(error)
    }
    this.#failed = failed
    req.on('readable', begun).on('end', begun).on('error', failed).on('close', failed)
  }

  /** Only there to be recognised: undici reads by events. */
  pipe(): never {
    throw new Error('an upload is read by its events')
  }

  resume(): this {
    if (this.destroyed) return this
    if (!this.#attached) {
      this.#attached = true
      this.#silence.refresh()
      this.#req.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError)
      this.#req.on('close', this.#onClose)
      // An empty body has ended by the time that there is somebody to send it.
      if (this.#req.readableEnded) process.nextTick(this.#onEnd)
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
    clearTimeout(this.#silence)
    this.#stopWaiting?.()
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

  /** Only a client that is listened to can be silent: not one that waits for the resource to go on. */
  #onSilence(): void {
    const begun = this.#failed === undefined
    // It begins anew with the connection to the resource.
    if (begun && !this.#attached) return
    if (begun && this.#req.isPaused()) this.#silence.refresh()
    else this.#fail(new SilenceError('the client stopped sending its body', this.bytes))
  }

  readonly #onData = (chunk: Buffer) => {
    this.#silence.refresh()
    if (!this.#start()) return
    this.bytes += chunk.length
    this.emit('data', chunk)
  }

  readonly #onEnd = () => {
    if (this.#req.rawTrailers.length > 0) {
      this.#fail(new TrailerError('the request carries trailers, which cannot be forwarded', this.bytes))
    } else if (this.#start()) {
      clearTimeout(this.#silence)
      this.ended = true
      this.emit('end')
    }
  }

  readonly #onError = (error: Error) => this.#fail(error)

  readonly #onClose = () => {
    if (!this.ended) this.#fail(new Error('the client left before its body was complete'))
  }

  #fail(error: Error): void {
    if (this.#failed) this.#failed(error)
    else if (!this.destroyed) this.emit('error', error)
  }
}
