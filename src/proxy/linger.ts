/** Ending an answer whose request has not been read to its end. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How long the rest of a body is read away before its connection closes. */
const LINGER_MS = 2000

/** Answers that are written in full, and wait for the rest of their request. */
const lingering = new WeakSet<ServerResponse>()

/**
 * Ends the response once the request has been read away, or after {@link LINGER_MS}. Closing a socket with
 * unread bytes resets it, and the reset can overtake the answer (RFC 9112, section 9.6).
 */
export function endWhenRead(req: IncomingMessage, res: ServerResponse): void {
  if (req.complete) {
    res.end()
    req.resume()
    return
  }
  lingering.add(res)
  const timer = setTimeout(end, LINGER_MS)
  function end() {
    clearTimeout(timer)
    res.end()
  }
  req.once('end', end).once('close', end).resume()
}

/** Whether nothing more will be written to it. */
export function isWhole(res: ServerResponse): boolean {
  return res.writableEnded || lingering.has(res)
}

/** Reads away what a client still sends after its last answer, and destroys the socket when it ends or in time. */
export function lingerThenDestroy(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer)).once('end', () => socket.destroy())
  socket.resume()
}
