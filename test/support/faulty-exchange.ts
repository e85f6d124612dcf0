/** One request and its answer as the handler of attempts sees them, without HTTP: the body comes when a test says. */
import { EventEmitter } from 'node:events'
import type { Refusal } from '../../src/errors.ts'
import type { Replayed } from './faulty-operations.ts'

export const BODY = Buffer.from('{}')

export class FakeRequest extends EventEmitter {
  readonly method = 'POST'
  readonly httpVersion = '1.1'
  readonly headers: Record<string, string>
  readonly rawHeaders: readonly string[]
  readonly rawTrailers: readonly string[] = []
  readonly url: string
  readonly key: string
  complete = false
  destroyed = false
  readableEnded = false
  #arrived = false
  #flowing = false

  constructor(url: string, key: string) {
    super()
    this.url = url
    this.key = key
    this.headers = { 'idempotency-key': key, 'content-length': String(BODY.length) }
    this.rawHeaders = ['Idempotency-Key', key]
  }

  arrive(): void {
    this.#arrived = true
    this.emit('readable')
    this.#flow()
  }

  leave(): void {
    this.destroyed = true
    this.emit('close')
  }

  /** As a stream does: what has come before somebody listens is told then; that it was closed is not. */
  override on(event: string, listener: () => void): this {
    if (event === 'readable' && this.#arrived) queueMicrotask(() => this.emit(event))
    return super.on(event, listener)
  }

  resume(): this {
    this.#flowing = true
    queueMicrotask(() => this.#flow())
    return this
  }

  pause(): this {
    this.#flowing = false
    return this
  }

  #flow(): void {
    if (!this.#arrived || !this.#flowing || this.readableEnded || this.destroyed) return
    this.complete = true
    this.readableEnded = true
    this.emit('data', BODY)
    this.emit('end')
  }
}

interface Heard {
  readonly refused: (refusal: Refusal) => void
  readonly replayed: (replayed: Replayed) => void
}

/** As much of an exchange as the handler of attempts uses, and what the client was given by it. */
export class FakeExchange {
  readonly method = 'POST'
  readonly req: FakeRequest
  readonly res = new FakeResponse()
  readonly #heard: Heard

  constructor(req: FakeRequest, heard: Heard) {
    this.req = req
    this.#heard = heard
  }

  refuse(refusal: Refusal): void {
    this.#heard.refused(refusal)
  }

  replayed(): void {
    this.#heard.replayed(this.res)
  }
}

class FakeResponse implements Replayed {
  status = 0
  headers: string[] = []
  body = Buffer.alloc(0)

  writeHead(status: number, _reason: string, headers: string[]): void {
    this.status = status
    this.headers = headers
  }

  write(chunk: Buffer): void {
    this.body = Buffer.concat([this.body, chunk])
  }

  end(): void {}
}
