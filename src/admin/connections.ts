/**
 * The connections of a server: at most so many that there is always room for one more, of which the one that has been
 * idle for the longest is closed.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** From now on. Those with a request under way stay; if all are, a new one is closed instead. */
export function limitConnections(server: Server, most: number): void {
  /** The idle ones in the order in which they became so. */
  const idle = new Set<Socket>()
  let open = 0
  server.on('connection', (socket) => {
    open++
    idle.add(socket)
    socket.once('close', () => {
      open--
      idle.delete(socket)
    })
    if (open <= most) return
    const [longest = socket] = idle
    idle.delete(longest)
    longest.destroy()
  })
  server.on('request', ({ socket }, response) => {
    idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket)
    })
  })
}
