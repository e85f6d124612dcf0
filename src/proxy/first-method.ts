/**
 * Methods that Node's parser doesn't know, on the first request of a connection.
 *
 * The parser gives up at the first byte of a method outside its list, so the first bytes of each connection
 * are looked at before it gets them: an unknown method is replaced by a known one of no other meaning, and
 * kept beside the socket. Later requests of a connection are the parser's alone, because only it knows where
 * they begin; an unknown method there is refused and the connection closes.
 */
import { METHODS } from 'node:http'
import type { Socket } from 'node:net'

/** Stands in for an unknown method in front of the parser: has a body or not, like any other. */
const STAND_IN = 'PATCH'
const KNOWN = new Set(METHODS)
/** RFC 9110, section 5.6.2: a token, and the space that ends a method. */
const METHOD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) /

const unknownMethods = new WeakMap<Socket, string>()

/** The method to go by, once for each request. */
export function takeMethod(req: { method?: string | undefined; socket: Socket }): string {
  const unknown = unknownMethods.get(req.socket)
  if (unknown === undefined) return req.method as string
  unknownMethods.delete(req.socket)
  return unknown
}

/** Passes a connection on once its first bytes are there, or `timeoutMs` have passed. */
export function lookAtFirstMethod(socket: Socket, timeoutMs: number, passOn: () => void): void {
  const pass = () => {
    clearTimeout(timer)
    socket.off('readable', look).off('end', leave).off('error', ignore)
    passOn()
  }
  const look = () => {
    const bytes: Buffer | null = socket.read()
    if (bytes === null) return
    socket.off('readable', look)
    socket.unshift(replaced(bytes, socket))
    pass()
  }
  // A health check that only connects is no request, and no refusal.
  const leave = () => socket.destroy()
  // The server's own time-out for a head starts where this one ends.
  const timer = setTimeout(pass, timeoutMs)
  socket
    .on('readable', look)
    .on('end', leave)
    .on('error', ignore)
    .once('close', () => clearTimeout(timer))
}

function ignore(): void {}

function replaced(bytes: Buffer, socket: Socket): Buffer {
  const method = METHOD.exec(bytes.subarray(0, 65).toString('latin1'))?.[1]
  if (method === undefined || KNOWN.has(method)) return bytes
  unknownMethods.set(socket, method)
  return Buffer.concat([Buffer.from(STAND_IN), bytes.subarray(method.length)])
}
