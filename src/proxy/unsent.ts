/**
 * Closing a connection so that nothing of it is sent any more.
 *
 * After an ordinary close the system goes on sending what it was given, for minutes if the other side takes nothing or
 * can't be reached: a write that was cut off could come to the resource whole, behind its successor's. A reset
 * throws that away (SO_LINGER of 0). Node has one for sockets that have written all and speak no TLS; so this is done
 * where both kinds close, at the handle of the TCP connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The parts of Node's handles that are used here; a TLS connection's handle has the TCP connection's within. */
interface Handle {
  readonly _parent?: Handle
  close?(closed: () => void): void
  /** While one half is being shut down it fails, and leaves a handle that nothing closes. */
  reset?(closed: () => void): number
}

/** From now on the socket is reset when it is destroyed with an error that `isFailure` takes. */
export function resetOnFailure(socket: Socket, isFailure: (error: Error) => boolean): void {
  const { _handle: outer } = socket as { _handle?: Handle | null }
  const tcp = outer?._parent ?? outer
  if (!tcp?.close || !tcp.reset) return
  const close = tcp.close.bind(tcp)
  const reset = tcp.reset.bind(tcp)
  tcp.close = (closed) => {
    const error = socket.errored
    const shuttingDown = socket.writableEnded && socket.writableLength === 0 && !socket.writableFinished
    if (error && isFailure(error) && !shuttingDown) reset(closed)
    else close(closed)
  }
}

/**
 * Ends an answer in the middle. A client of HTTP/1.0 has no chunks, and would take the end of its connection for the
 * answer's: it is told by a reset that there was more.
 */
export function cutShort({ httpVersion }: IncomingMessage, res: ServerResponse): void {
  const { socket } = res
  if (httpVersion !== '1.0' || socket === null) return void res.destroy()
  resetOnFailure(socket, () => true)
  res.destroy(new Error('the answer is not whole'))
}
