/**
 * A resource that records what reaches it, byte for byte and in order, and behaves as each test scripts it.
 *
 * A script runs for each request once its head has arrived. Scripts queued with `once` are taken in the order
 * in which heads arrive; where none is queued, `script` runs, which by default answers 200 to a whole request.
 */
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import tls from 'node:tls'
import { type Answer, Exchange, type ReceivedRequest } from './upstream-exchange.ts'
import { Changes, DEADLINE_MS } from './wait.ts'
import { Body, CutError, fieldValues, framingOf, readBody, readHead, WireReader } from './wire.ts'

export type Script = (exchange: Exchange) => void | Promise<void>

/** One connection to the upstream. */
export interface UpstreamConnection {
  readonly id: number
  readonly reader: WireReader
  readonly socket: Socket
  /** How the peer ended it; undefined while it is open. */
  ended: 'fin' | 'error' | undefined
}

/** What happened at the upstream, in order. */
export interface UpstreamEvent {
  readonly what: 'head' | 'body-end' | 'answered' | 'ended'
  readonly connection: number
  readonly request: ReceivedRequest | undefined
}

/** Answers 200 to a whole request. */
const answerAll: Script = async (exchange) => {
  if (await exchange.wholeBody()) await exchange.answer()
}

export class RecordingUpstream {
  readonly requests: ReceivedRequest[] = []
  readonly connections: UpstreamConnection[] = []
  readonly events: UpstreamEvent[] = []
  /** Bytes that were not HTTP/1.1, and scripts that threw. A test's last line expects none. */
  readonly faults: string[] = []
  script: Script = answerAll
  /** Runs at the first byte of a request, before it is parsed. */
  onFirstByte: ((connection: UpstreamConnection) => void) | undefined
  readonly changes = new Changes()
  readonly #server: net.Server
  readonly #secure: boolean
  readonly #queue: Script[] = []

  private constructor(secure: tls.TlsOptions | undefined) {
    const serve = (socket: Socket) => void this.#serve(socket)
    this.#secure = secure !== undefined
    this.#server = secure
      ? tls.createServer({ ...secure, ALPNProtocols: ['http/1.1'] }, serve)
      : net.createServer({ allowHalfOpen: true, noDelay: true }, serve)
    this.#server.on('tlsClientError', () => {})
  }

  static async start(options: { tls?: tls.TlsOptions } = {}): Promise<RecordingUpstream> {
    const upstream = new RecordingUpstream(options.tls)
    await upstream.listen(0)
    return upstream
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get authority(): string {
    return `${this.#secure ? 'localhost' : '127.0.0.1'}:${this.port}`
  }

  get url(): string {
    return `${this.#secure ? 'https' : 'http'}://${this.authority}`
  }

  get bytesReceived(): number {
    return this.connections.reduce((sum, { reader }) => sum + reader.received, 0)
  }

  /** Whole requests received. */
  get whole(): ReceivedRequest[] {
    return this.requests.filter(({ body }) => body.complete)
  }

  get last(): ReceivedRequest {
    const last = this.requests.at(-1)
    if (!last) throw new Error('the upstream received no request')
    return last
  }

  /** Queues a script for the next request without one. */
  once(script: Script): void {
    this.#queue.push(script)
  }

  /** Queues an answer to the next whole request. */
  answerOnce(answer: Answer): void {
    this.once(async (exchange) => {
      if (await exchange.wholeBody()) await exchange.answer(answer)
    })
  }

  /** Queues a request that is kept without an answer until the test lets it go. */
  hold(): Held {
    const held = new Held()
    this.once(held.script)
    return held
  }

  /** Resolves once `count` whole requests have arrived since the last `forget`. */
  received(count: number, ms = DEADLINE_MS): Promise<void> {
    return this.changes.when(() => this.whole.length >= count, `${count} whole requests at the upstream`, ms)
  }

  /** Resolves once `count` heads have arrived. */
  heads(count: number): Promise<void> {
    return this.changes.when(() => this.requests.length >= count, `${count} heads at the upstream`)
  }

  /** A fresh record for the next test; open connections stay. */
  forget(): void {
    this.requests.length = 0
    this.events.length = 0
    this.faults.length = 0
    this.#queue.length = 0
    this.script = answerAll
    this.onFirstByte = undefined
  }

  async close(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined
    this.#server.close()
    for (const { socket } of this.connections) socket.destroy()
    await closed
  }

  async #serve(socket: Socket): Promise<void> {
    const id = this.connections.length
    const connection: UpstreamConnection = { id, socket, reader: new WireReader(socket), ended: undefined }
    this.connections.push(connection)
    const ended = (how: 'fin' | 'error') => {
      if (connection.ended) return
      connection.ended = how
      this.#note('ended', connection, undefined)
    }
    socket.on('end', () => ended('fin'))
    socket.on('error', () => ended('error'))
    socket.on('close', () => ended('fin'))
    try {
      while (await connection.reader.ready()) {
        this.onFirstByte?.(connection)
        if (socket.destroyed || !(await this.#exchange(connection))) break
      }
      socket.end()
    } catch (error) {
      if (!(error instanceof CutError)) this.faults.push(String(error))
      if (!socket.destroyed) socket.destroy()
    }
  }

  /** One request and its answer; false if the connection can't be used again. */
  async #exchange(connection: UpstreamConnection): Promise<boolean> {
    const { reader, socket } = connection
    const { startLine, headers } = await readHead(reader)
    const [, method, target] = /^(\S+) (\S+) HTTP\/1\.1$/.exec(startLine) ?? []
    if (method === undefined || target === undefined) throw new Error(`not a request line: ${startLine}`)
    const values = (name: string) => fieldValues(headers, name)
    const request: ReceivedRequest = {
      method,
      target,
      headers,
      values,
      body: new Body(),
      connection: connection.id,
    }
    this.requests.push(request)
    this.#note('head', connection, request)
    const exchange = new Exchange(request, connection, this.changes, () =>
      this.#note('answered', connection, request),
    )
    const reading = readBody(reader, framingOf(headers, 'none'), request.body, () => this.changes.notify())
      .then(() => this.#note('body-end', connection, request))
      // A script sees a cut as a body that never becomes whole.
      .catch((error) => {
        if (error instanceof CutError) return
        this.faults.push(String(error))
        socket.destroy()
      })
    await (this.#queue.shift() ?? this.script)(exchange)
    await reading
    return exchange.reusable && request.body.complete && !socket.destroyed
  }

  #note(what: UpstreamEvent['what'], { id }: UpstreamConnection, request: ReceivedRequest | undefined): void {
    this.events.push({ what, connection: id, request })
    this.changes.notify()
  }
}

/** A request that the upstream has and doesn't answer. */
export class Held {
  readonly #arrived = Promise.withResolvers<Exchange>()
  readonly #released = Promise.withResolvers<Answer>()

  /** Resolves with the exchange once the whole request has arrived. */
  get arrived(): Promise<Exchange> {
    return this.#arrived.promise
  }

  release(answer: Answer = {}): void {
    this.#released.resolve(answer)
  }

  readonly script: Script = async (exchange) => {
    if (!(await exchange.wholeBody())) return
    this.#arrived.resolve(exchange)
    const answer = await Promise.race([this.#released.promise, exchange.gone()])
    if (answer) await exchange.answer(answer)
  }
}
