/** HTTP with a sidecar: over its socket or to its admin port. Nothing is sent twice, and no redirect is followed. */
import http from 'node:http'
import https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { EXIT, ExitError } from '../errors.ts'
import type { Endpoint } from './endpoint.ts'

export interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

/** A request, not yet sent. */
export function requestTo(
  endpoint: Endpoint,
  method: 'GET' | 'POST',
  target: string,
  headers: http.OutgoingHttpHeaders,
): http.ClientRequest {
  // An act gets a connection of its own: on one that was idle, the sidecar could be closing it just then.
  const agent = method === 'POST' ? { agent: false as const } : {}
  if (endpoint.kind === 'socket') {
    return http.request({ socketPath: endpoint.name, method, path: target, headers, ...agent })
  }
  const { url, token } = endpoint
  const { request } = url.protocol === 'https:' ? https : http
  return request({
    ...urlToHttpOptions(url),
    method,
    // Not resolved against the URL: that would take a task named ".." for a step up.
    path: url.pathname.replace(/\/$/, '') + target,
    headers: { ...headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
    ...agent,
  })
}

/** Asks, and reads the whole answer. Throws {@link ExitError} 69 if there is none within `timeoutMs`. */
export function exchange(
  endpoint: Endpoint,
  method: 'GET' | 'POST',
  target: string,
  body: object | undefined,
  timeoutMs: number,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => reject(unreachable(endpoint, error))
    const request = requestTo(endpoint, method, target, body ? { 'Content-Type': 'application/json' } : {})
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk)).on('error', failed)
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, text: Buffer.concat(chunks).toString() })
      })
    })
    const late = () => {
      const message = `the sidecar at ${endpoint.name} has not answered for ${timeoutMs / 1000} s`
      const remedy =
        method === 'POST' ? 'whether it did as asked is unknown. Ask again' : 'it is stopped or stuck'
      reject(new ExitError(EXIT.unavailable, `${message}: ${remedy}.`))
      request.destroy()
    }
    const timer = timeoutMs === Infinity ? undefined : setTimeout(late, timeoutMs)
    request.on('error', failed).on('close', () => clearTimeout(timer))
    request.end(body && JSON.stringify(body))
  })
}

/** 69, with what to do about it. */
export function unreachable(endpoint: Endpoint, error: NodeJS.ErrnoException): ExitError {
  return new ExitError(
    EXIT.unavailable,
    `no sidecar answers at ${endpoint.name} (${error.code ?? error.message}). ${remedyFor(endpoint, error)}`,
    { cause: error },
  )
}

function remedyFor(endpoint: Endpoint, { code = '' }: NodeJS.ErrnoException): string {
  if (endpoint.kind === 'socket') {
    return "Name the running one's data directory with --data or --config, and run this as its user."
  }
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return "Its certificate isn't trusted here: name that of its authority in NODE_EXTRA_CA_CERTS."
  }
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return 'It speaks no TLS there: write http://, or name the proxy that ends TLS.'
  }
  return 'Name its admin port with --server, and see that it can be reached from here.'
}
