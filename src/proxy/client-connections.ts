/**
 * The clients' connections: one request of each at a time, and what becomes of those that Node's parser gives up
 * on.
 *
 * Node hands pipelined requests over as they arrive. Handled at once, two writes of one connection could overtake
 * each other at the resource, and an interim answer to the second would land inside the answer to the first. So a
 * request starts when the answer before it has ended (RFC 9112, section 9.3.2).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Limits } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { answerClientError, answerOnSocket, NO_TUNNEL } from './client-errors.ts'
import { isWhole, lingerThenDestroy } from './linger.ts'
import type { RejectionLog } from './rejection-log.ts'
import { endOf, offersUpgrade } from './request-end.ts'

/** Requests that one connection may have waiting; more than anybody sends ahead in earnest. */
const MAX_WAITING = 256

/** What the waiting requests of all connections may hold; beyond it only a few of each may wait. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
const FEW_WAITING = 8

/** Of memory, besides the bytes of its head. */
const REQUEST_BYTES = 4096

/** Connections over the limit that are answered at a time; others are cut. */
const MAX_TURNED_AWAY = 64

/** What has no route has no fields of its own, and no mark to hide. */
const RENDERING = { revealHighest: false, headers: {}, format: 'problem' } as const

const TOO_MANY_CONNECTIONS: Refusal = {
  code: 'overloaded',
  retryAfterSeconds: 1,
  detail:
    'limits.connections is reached. Nothing was sent. Repeat the request later, over a connection that is kept.',
}

/** A request whose answer has not ended. */
interface Owed {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly start: () => void
  /** What it holds while it waits; 0 if it need not. */
  readonly waitingBytes: number
  /** What the socket has read when this has come and nothing behind it; set where that matters. */
  readonly end: number | undefined
}

export class ClientConnections {
  /** The first of each list has started, the others wait. */
  readonly #owed = new Map<Socket, Owed[]>()
  /** Connections whose last request was answered, and whose body has not come to its end. */
  readonly #unread = new WeakSet<Socket>()
  /** Connections that close once the answers they owe have ended. */
  readonly #condemned = new WeakSet<Socket>()
  readonly #endingTogether = new WeakSet<Socket>()
  readonly #rejectionLog: RejectionLog
  readonly #limits: Limits
  /** Of all connections. */
  #waitingBytes = 0
  #admitted = 0
  #turnedAway = 0

  constructor(rejectionLog: RejectionLog, limits: Limits) {
    this.#rejectionLog = rejectionLog
    this.#limits = limits
  }

  /**
   * Whether a new connection is within the limit. One that isn't is told so, if it speaks plain HTTP (a handshake
   * is what the limit saves), and ends.
   */
  admit(socket: Socket, plain: boolean): boolean {
    if (this.#admitted < this.#limits.connections) {
      this.#admitted++
      socket.once('close', () => this.#admitted--)
      return true
    }
    this.#note(TOO_MANY_CONNECTIONS, socket)
    if (plain && this.#turnedAway < MAX_TURNED_AWAY) {
      this.#turnedAway++
      socket.once('close', () => this.#turnedAway--).on('error', ignore)
      answerOnSocket(TOO_MANY_CONNECTIONS, socket, RENDERING)
    } else {
      socket.destroy()
    }
    return false
  }

  /** Connections that wait for an answer. */
  get owed(): number {
    return this.#owed.size
  }

  /** Calls `start` when the answers before this one have ended; never, if the connection has by then. */
  take(req: IncomingMessage, res: ServerResponse, start: () => void): void {
    const { socket } = req
    // Whoever reads a body listens for himself; an error that nobody waits for must not end the process.
    req.on('error', ignore)
    res.on('error', ignore)
    const owed = this.#owed.get(socket) ?? []
    this.#owed.set(socket, owed)
    const waitingBytes = owed.length === 0 ? 0 : bytesOf(req)
    this.#waitingBytes += waitingBytes
    const offers = offersUpgrade(req)
    const end = offers && owed.length === 0 ? endOf(req) : undefined
    if (offers && end === undefined) res.shouldKeepAlive = false
    owed.push({ req, res, start, waitingBytes, end })
    res.once('prefinish', () => this.#expectReading(socket, res))
    this.#unread.delete(socket)
    res.once('close', () => this.#ended(req, res))
    if (owed.length === 2) this.#endTogether(socket)
    if (owed.length === 1) this.#start(socket, start)
    else if (owed.length > (this.#waitingBytes > MAX_WAITING_BYTES ? FEW_WAITING : MAX_WAITING))
      socket.destroy()
  }

  /** The parser gave up on what came after the requests that it has handed over. */
  failed(error: Error & { code?: string }, socket: Socket): void {
    const owed = this.#owed.get(socket) ?? []
    const last = owed.at(-1)
    if (last === undefined && this.#unread.has(socket)) {
      socket.destroy()
    } else if (last === undefined) {
      const refusal = answerClientError(error, socket, RENDERING)
      if (refusal) this.#note(refusal, socket)
    } else if (last.req.complete) {
      this.#condemned.add(socket)
    } else if (isWhole(last.res)) {
      // It was answered before its body had come, and the body is what could not be read.
      last.res.end()
      lingerThenDestroy(socket)
    } else {
      socket.destroy()
    }
  }

  /** A client asks for a tunnel: it is told no, after the answers that it is owed. */
  tunnel(socket: Socket): void {
    // Node takes away its own listeners, whose work for the requests before goes on here.
    socket.on('error', ignore)
    const owed = this.#owed.get(socket)
    if (owed === undefined) return answerOnSocket(NO_TUNNEL, socket, RENDERING)
    this.#condemned.add(socket)
    socket.on('drain', () => owed[0]?.res.emit('drain'))
    this.#endTogether(socket)
  }

  /** The responses end with their connection; not every version of Node sees to those that wait behind another. */
  #endTogether(socket: Socket): void {
    if (this.#endingTogether.has(socket)) return
    this.#endingTogether.add(socket)
    const left = () => [...(this.#owed.get(socket) ?? [])]
    socket.once('close', () => {
      for (const { res } of left()) res.destroy()
      setImmediate(() => {
        for (const { res } of left()) res.emit('close')
      })
    })
  }

  /** Nothing of the request, owed or waiting, has arrived yet on this connection. */
  isIdle(socket: Socket): boolean {
    return !this.#owed.has(socket)
  }

  #note(refusal: Refusal, { remoteAddress }: Socket): void {
    this.#rejectionLog.note('request refused', refusal, { route: 'none', client: remoteAddress })
  }

  /** The answer is written; a client that doesn't read it must not keep its connection for ever. */
  #expectReading(socket: Socket, res: ServerResponse): void {
    const timer = setTimeout(() => socket.destroy(), this.#limits.idleTimeoutMs)
    res.once('close', () => clearTimeout(timer))
  }

  /** An answer with `Connection: close` was the last: nothing behind it is processed (RFC 9112, section 9.6). */
  #start(socket: Socket, start: () => void): void {
    if (!socket.destroyed && !socket.writableEnded) start()
  }

  #ended(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req
    const owed = this.#owed.get(socket) ?? []
    const index = owed.findIndex((one) => one.res === res)
    for (const { waitingBytes, end } of index >= 0 ? owed.splice(index, 1) : []) {
      this.#waitingBytes -= waitingBytes
      if (end !== undefined && end !== socket.bytesRead) socket.destroySoon()
    }
    const next = owed[0]
    if (next === undefined) {
      this.#owed.delete(socket)
      if (!req.complete) this.#unread.add(socket)
      if (this.#condemned.has(socket)) socket.destroySoon()
    } else if (index === 0) {
      this.#start(socket, next.start)
    }
  }
}

function bytesOf({ rawHeaders, url = '' }: IncomingMessage): number {
  return rawHeaders.reduce((sum, { length }) => sum + length, REQUEST_BYTES + url.length)
}

function ignore(): void {}
