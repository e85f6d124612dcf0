/**
 * A request's body on its way to the resource, and the place of the last check: `beforeFirstByte` runs in
 * the same turn in which undici writes the head, just before it.
 *
 * undici takes it for a stream. It is not the request itself, because undici destroys the stream it was
 * given when an exchange ends early, and the client's connection must outlive that.
 */
import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { bodyPassed } from './body-memory.ts'
import { OF_BODY, Pace, type PaceFault, type PaceLimits } from './pace.ts'

/** The client's own fault, within its body. */
export class BodyError extends Error {
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

/** The client is there, and says nothing, or too little for what it holds. */
export class SilenceError extends BodyError {
  override readonly name = 'SilenceError'
}

/** The body is longer than `limits.bodySize`, which a chunked one does not tell before it is there. */
export class TooLargeError extends BodyError {
  override readonly name = 'TooLargeError'
}

export interface UploadLimits extends PaceLimits {
  /** Bytes of a body, at most. */
  readonly bodySize: number
}

export class Upload extends EventEmitter {
  readonly #req: IncomingMessage
  readonly #beforeFirstByte: () => boolean
  readonly #limits: UploadLimits
  readonly #contended: () => boolean
  readonly #pace: Pace
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

  /** @param contended whether other requests wait for a connection to the resource. */
  constructor(
    req: IncomingMessage,
    limits: UploadLimits,
    contended: () => boolean,
    beforeFirstByte: () => boolean,
  ) {
    super()
    this.#req = req
    this.#limits = limits
    this.#contended = contended
    this.#beforeFirstByte = beforeFirstByte
    this.#pace = new Pace(
      OF_BODY,
      limits,
      () => this.#attached && contended(),
      (fault) => this.#fail(new SilenceError(SILENCE[fault], this.bytes)),
    )
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
      // It is the resource's connection that is waited for next.
      this.#pace.hold()
      ready()
    }
    const failed = (error: Error = new Error('the client left before its body began')) => {
      stop()
      left(error)
    }
    this.#failed = failed
    req.on('readable', begun).on('end', begun).on('error', failed).on('close', failed)
  }

  /**
   * The fault of a client whose body came too slowly while it waited for a connection: having one, it would only keep
   * out those that still wait. No fault of one that has sent all that there is, or as much as is taken unread.
   */
  get slowSoFar(): Error | undefined {
    const { complete, readableLength, readableHighWaterMark } = this.#req
    if (complete || readableLength >= readableHighWaterMark || !this.#contended()) return undefined
    return this.#pace.wasSlow(readableLength) ? new SilenceError(SILENCE.slow, 0) : undefined
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
      // An empty body has ended by the time that there is somebody to send it.
      if (this.#req.readableEnded) process.nextTick(this.#onEnd)
    }
    this.#pace.resume()
    this.#req.resume()
    return this
  }

  pause(): this {
    this.#pace.hold()
    this.#req.pause()
    return this
  }

  /** Lets go of the request; what is left of its body is for somebody else to read. */
  destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.#pace.stop()
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

  readonly #onData = (chunk: Buffer) => {
    this.#pace.moved(chunk.length)
    if (this.bytes + chunk.length > this.#limits.bodySize) {
      this.#fail(new TooLargeError('the body is larger than limits.bodySize', this.bytes))
      return
    }
    if (!this.#start()) return
    this.bytes += chunk.length
    bodyPassed(chunk.length)
    this.emit('data', chunk)
  }

  readonly #onEnd = () => {
    if (this.#req.rawTrailers.length > 0) {
      this.#fail(new TrailerError('the request carries trailers, which cannot be forwarded', this.bytes))
    } else if (this.#start()) {
      this.#pace.stop()
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

const SILENCE: Record<PaceFault, string> = {
  silent: 'the client stopped sending its body',
  slow: 'the client sent its body slower than limits.bodyRate, while other requests waited for its connection',
}
