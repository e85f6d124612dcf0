/**
 * The resource of the fuzzed sidecar: reads what reaches it with the strict reader, records it in order, and
 * answers as each request asks in its `X-Fuzz-Do` field. Every answer names the record that it belongs to.
 */
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { Changes } from '../support/wait.ts'
import { behaviourNamed } from './behaviours.ts'
import { escaped } from './escape.ts'
import { valuesOf } from './grammar.ts'
import { parseRequest, type StrictRequest } from './strict.ts'

/** A request as it reached the resource. */
export interface Received {
  /** From 1, in the order in which heads arrived. */
  readonly seq: number
  /** Grows until it is whole, or its connection ends. */
  request: StrictRequest
  /** What the resource answered; undefined if that was no whole and valid answer. */
  answer: { readonly status: number; readonly body: string } | undefined
}

const SHOWN_BYTES = 500

export class FuzzUpstream {
  readonly #server = net.createServer(
    { noDelay: true, allowHalfOpen: true },
    (socket) => void this.#serve(socket),
  )
  readonly #sockets = new Set<Socket>()
  readonly #open = new Set<Received>()
  readonly #changes = new Changes()
  #received: Received[] = []
  #faults: string[] = []
  #seq = 0

  static async start(): Promise<FuzzUpstream> {
    const upstream = new FuzzUpstream()
    upstream.#server.listen(0, '127.0.0.1')
    await once(upstream.#server, 'listening')
    return upstream
  }

  get authority(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when no request is being read or answered. */
  quiet(): Promise<void> {
    return this.#changes.when(() => this.#open.size === 0, 'a resource without open exchanges')
  }

  /** What has arrived since it was last asked; `faults`: bytes that are no request to the strict reader. */
  take(): { received: Received[]; faults: string[] } {
    const taken = { received: this.#received, faults: this.#faults }
    this.#received = []
    this.#faults = []
    return taken
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    const arrivals = new Arrivals(socket)
    for (let reusable = true; reusable; ) {
      const request = await this.#next(arrivals)
      if (!request) break
      const received: Received = { seq: ++this.#seq, request, answer: undefined }
      this.#received.push(received)
      this.#open.add(received)
      reusable = await this.#exchange(received, arrivals, socket)
      this.#open.delete(received)
      this.#changes.notify()
    }
    socket.end()
  }

  async #exchange(received: Received, arrivals: Arrivals, socket: Socket): Promise<boolean> {
    const behaviour = behaviourNamed(valuesOf(received.request.fields, 'x-fuzz-do')[0])
    const early = behaviour.early ? behaviour.answer(received, socket) : undefined
    while (!received.request.whole) {
      if (!(await arrivals.more())) return false
      received.request = this.#read(arrivals) ?? received.request
    }
    return early ?? behaviour.answer(received, socket)
  }

  /** The next request, from when its head is there; undefined at the end of the connection. */
  async #next(arrivals: Arrivals): Promise<StrictRequest | undefined> {
    for (;;) {
      const request = this.#read(arrivals)
      if (request || !(await arrivals.more())) return request
    }
  }

  #read(arrivals: Arrivals): StrictRequest | undefined {
    const parsed = parseRequest(arrivals.bytes, 0)
    if ('request' in parsed) {
      arrivals.bytes = arrivals.bytes.subarray(parsed.end)
      return parsed.request
    }
    const { rest } = parsed
    if (rest.kind === 'incomplete') return rest.begun
    if (rest.kind === 'invalid') {
      this.#faults.push(`${rest.why}: ${escaped(arrivals.bytes.subarray(0, SHOWN_BYTES))}`)
      arrivals.socket.destroy()
    }
    return undefined
  }
}

/** What has come on a connection and is not yet read. */
class Arrivals {
  bytes: Buffer = Buffer.alloc(0)
  readonly socket: Socket
  #ended = false
  #wake: (() => void) | undefined
  #news = false

  constructor(socket: Socket) {
    this.socket = socket
    const end = () => {
      this.#ended = true
      this.#wake?.()
    }
    socket.on('end', end).on('error', end).on('close', end)
    socket.on('data', (chunk: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, chunk])
      this.#news = true
      this.#wake?.()
    })
  }

  /** Resolves with true once there is more than when it was last called, with false at the end. */
  async more(): Promise<boolean> {
    while (!this.#news && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const news = this.#news
    this.#news = false
    return news
  }
}
