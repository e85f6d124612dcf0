/**
 * The connections of a server, so that nobody who asks and doesn't listen keeps others out, or fills the memory: of each
 * one request is answered at a time, and there is always room for one more connection.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that wait for the answer before theirs. Hardly anybody sends one ahead. */
const MAX_WAITING = 16

/**
 * From now on, `most` connections at most. For one more, the one is closed that has been idle for the longest; if none is,
 * one whose client sends no more of its request or takes no more of its answer; else the new one.
 */
export function limitConnections(server: Server, most: number): void {
  /** The idle ones in the order in which they became so. */
  const idle = new Set<Socket>()
  /** With the request under way, in the order in which they began. */
  const busy = new Map<Socket, IncomingMessage>()
  let open = 0
  server.on('connection', (socket) => {
    open++
    idle.add(socket)
    socket.once('close', () => {
      open--
      idle.delete(socket)
      busy.delete(socket)
    })
    if (open <= most) return
    const [longest] = idle
    const closed = longest !== socket && longest ? longest : (stuckOf(busy) ?? socket)
    idle.delete(closed)
    busy.delete(closed)
    closed.destroy()
  })
  server.on('request', (request, response) => {
    const { socket } = request
    idle.delete(socket)
    busy.set(socket, request)
    response.once('close', () => {
      busy.delete(socket)
      if (!socket.destroyed) idle.add(socket)
    })
  })
  answerInTurn(server)
}

function stuckOf(busy: ReadonlyMap<Socket, IncomingMessage>): Socket | undefined {
  for (const [socket, request] of busy) if (socket.writableLength > 0 || !request.complete) return socket
  return undefined
}

/** Puts itself before whoever listens for requests now: Node hands over all that a connection sent ahead, at once. */
function answerInTurn(server: Server): void {
  const listeners = server.listeners('request')
  server.removeAllListeners('request')
  /** Of connections with a request under way, those that wait. */
  const waiting = new WeakMap<Socket, (() => void)[]>()
  server.on('request', (request, response) => {
    const { socket } = request
    if (socket.destroyed) return
    const start = () => {
      for (const listener of listeners) listener.call(server, request, response)
      response.once('close', () => {
        const next = socket.destroyed ? undefined : waiting.get(socket)?.shift()
        if (next) next()
        else waiting.delete(socket)
      })
    }
    const queue = waiting.get(socket)
    if (queue === undefined) {
      waiting.set(socket, [])
      start()
    } else if (queue.length < MAX_WAITING) queue.push(start)
    else socket.destroy()
  })
}
