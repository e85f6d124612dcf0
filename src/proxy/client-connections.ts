/** The clients' connections: which wait for an answer, and what becomes of those that Node's parser gives up on. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { answerClientError } from './client-errors.ts'

export class ClientConnections {
  /** Requests on each connection whose answer has not ended. */
  readonly #owed = new Map<Socket, Set<IncomingMessage>>()
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

  owe(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req
    const owed = this.#owed.get(socket) ?? new Set()
    this.#owed.set(socket, owed.add(req))
    res.once('close', () => {
      owed.delete(req)
      if (owed.size > 0) return
      this.#owed.delete(socket)
      if (this.#condemned.has(socket)) socket.destroySoon()
    })
  }

  /** The parser gave up on what came after the requests that it has handed over. */
  failed(error: Error & { code?: string }, socket: Socket): void {
    const owed = [...(this.#owed.get(socket) ?? [])]
    if (owed.length > 0 && owed.every((req) => req.complete)) {
      this.#condemned.add(socket)
    } else if (owed.length > 0) {
      socket.destroy()
    } else {
      const refusal = answerClientError(error, socket, { revealHighest: this.#revealHighest, headers: {} })
      if (refusal) this.#log.info({ code: refusal.code, client: socket.remoteAddress }, 'request refused')
    }
  }
}
