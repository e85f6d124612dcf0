/** Ending an answer whose request has not been read to its end. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** How long the rest of a body is read away before its connection closes. */
const LINGER_MS = 2000

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
  const timer = setTimeout(end, LINGER_MS)
  function end() {
    clearTimeout(timer)
    res.end()
  }
  req.once('end', end).once('close', end).resume()
}
