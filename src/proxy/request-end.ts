/**
 * Where a request ends that offers an upgrade which isn't taken.
 *
 * Node's parser stops behind such a request, whatever its listener says to the offer: what stands behind it in the
 * same segment is lost without a word, and the next segment would be read from the middle of something. So the
 * connection may go on only if nothing came behind the request before it was answered.
 */
import type { IncomingMessage } from 'node:http'

const END_OF_HEAD = '\r\n\r\n'

/** The part of Node's parser that gives the segment which is being read. */
interface Parser {
  getCurrentBuffer?(): Buffer
}

export function offersUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined
}

/**
 * What `socket.bytesRead` is when the request has come and nothing behind it; `undefined` if that can't be told, or
 * there is something already. Called while the parser is at the request's head, the only one on its connection.
 */
export function endOf({ socket, headers }: IncomingMessage): number | undefined {
  const { parser } = socket as { parser?: Parser | null }
  const segment = parser?.getCurrentBuffer?.()
  // The segment that ends a head may have begun within the head's last four bytes, and hold another whole head.
  if (!segment || segment[0] === 0x0d || segment[0] === 0x0a) return undefined
  if ('encrypted' in socket || headers['transfer-encoding'] !== undefined) return undefined
  const head = segment.indexOf(END_OF_HEAD)
  const behind = segment.length - head - END_OF_HEAD.length
  const body = Number(headers['content-length'] ?? 0)
  return head < 0 || behind > body ? undefined : socket.bytesRead - behind + body
}
