/**
 * A response object for a request that Node handed over by its `upgrade` event: the parser has let go of the
 * connection, and whatever is not a `101` is the last answer on it.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { lingerThenDestroy } from './linger.ts'

export function responseOn(req: IncomingMessage, socket: Socket): ServerResponse {
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.assignSocket(socket)
  socket.on('error', () => socket.destroy())
  // The parser's listener, which has gone with it, did this.
  socket.on('drain', () => res.emit('drain'))
  res.once('finish', () => {
    socket.end()
    lingerThenDestroy(socket)
  })
  return res
}
