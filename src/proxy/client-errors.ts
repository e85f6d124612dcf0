/**
 * Requests that Node's parser gives up on: too large, too slow, not HTTP. There is no request object, so the
 * answer is written to the socket. Called only for a socket that owes no other answer: this one would be
 * taken for it.
 */

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Refusal } from '../errors.ts'
import { lingerThenDestroy } from './linger.ts'
import { type RejectionOptions, render } from './rejection.ts'

const answered = new WeakSet<Socket>()

export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  options: RejectionOptions,
): Refusal | undefined {
  // What still comes after the answer is no request any more, and is read away.
  if (answered.has(socket)) return undefined
  const refusal = refusalOf(error.code)
  if (!socket.writable || refusal === undefined) {
    socket.destroy()
    return undefined
  }
  answerOnSocket(refusal, socket, options)
  return refusal
}

/** Writes a refusal where there is no response object, and closes the connection. */
export function answerOnSocket(refusal: Refusal, socket: Socket, options: RejectionOptions): void {
  const { status, headers, body } = render(refusal, options)
  const fields = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}\r\n${body}`)
  answered.add(socket)
  lingerThenDestroy(socket)
}

export const NO_TUNNEL: Refusal = {
  code: 'unsupported-method',
  detail: 'CONNECT asks for a tunnel, and what goes through a tunnel cannot be fenced. Nothing was sent.',
}

function refusalOf(code: string | undefined): Refusal | undefined {
  switch (code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    case 'HPE_INVALID_METHOD':
      return {
        code: 'unsupported-method',
        detail:
          'The request begins with no method that is known here. Nothing was sent. A method that HTTP ' +
          'libraries do not know passes as the first request of a connection: repeat it on a new one.',
      }
    case 'HPE_HEADER_OVERFLOW':
      return {
        code: 'head-too-large',
        detail: 'The request line and header fields are larger than limits.headSize. Nothing was sent.',
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        code: 'head-timeout',
        retryAfterSeconds: 1,
        detail: 'The request head took longer than limits.headTimeout to arrive. Nothing was sent.',
      }
    default:
      return {
        code: 'malformed-request',
        detail: `The request could not be read as HTTP/1.1 (${code ?? 'no code'}). Nothing was sent.`,
      }
  }
}
