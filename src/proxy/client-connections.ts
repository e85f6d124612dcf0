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
import type { Logger } from 'pino'
import { answerClientError, answerOnSocket, NO_TUNNEL } from './client-errors.ts'
import { isWhole, lingerThenDestroy } from './linger.ts'

/** Requests that one connection may have waiting; more than anybody sends ahead in earnest. */
const MAX_WAITING = 256

/** A request whose answer has not ended. */
interface Owed {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly start: () => void
}

export class ClientConnections {
  /** The first of each list has started, the others wait. */
  readonly #owed = new Map<Socket, Owed[]>()
  /** Connections that close once the answers they owe have ended. */
  readonly #condemned = new WeakSet<Socket>()
  readonly #log: Logger
  readonly #revealHighest: boolean

  constructor(log: Logger, revealHighest: boolean) {
    this.#log = log
    this.#revealHighest = revealHighest
  }

  /** Connections that wait for an answer. */
  get owed(): number {
    return this.#owed.size
  }

  /** Calls `start` when the answers before this one have ended; never, if the client has left by then. */
  take(req: IncomingMessage, res: ServerResponse, start: () => void): void {
    const { socket } = req
    // Whoever reads a body listens for himself; an error that nobody waits for must not end the process.
    req.on('error', ignore)
    res.on('error', ignore)
    const owed = this.#owed.get(socket) ?? []
    this.#owed.set(socket, owed)
    owed.push({ req, res, start })
    res.once('close', () => this.#ended(socket, res))
    if (owed.length === 1) start()
    else if (owed.length > MAX_WAITING) socket.destroy()
  }

  /** The parser gave up on what came after the requests that it has handed over. */
  failed(error: Error & { code?: string }, socket: Socket): void {
    const owed = this.#owed.get(socket) ?? []
    const last = owed.at(-1)
    if (last === undefined) {
      const refusal = answerClientError(error, socket, this.#rendering)
      if (refusal) this.#log.info({ code: refusal.code, client: socket.remoteAddress }, 'request refused')
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
    if (this.#owed.has(socket)) this.#condemned.add(socket)
    else answerOnSocket(NO_TUNNEL, socket, this.#rendering)
  }

  get #rendering() {
    return { revealHighest: this.#revealHighest, headers: {} }
  }

  #ended(socket: Socket, res: ServerResponse): void {
    const owed = this.#owed.get(socket) ?? []
    const index = owed.findIndex((one) => one.res === res)
    if (index >= 0) owed.splice(index, 1)
    const next = owed[0]
    if (next === undefined) {
      this.#owed.delete(socket)
      if (this.#condemned.has(socket)) socket.destroySoon()
    } else if (index === 0 && !socket.destroyed) {
      next.start()
    }
  }
}

function ignore(): void {}
