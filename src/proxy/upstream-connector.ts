/**
 * How connections to a resource are made, and why one can't be.
 *
 * Invariant: TLS is verified, whatever the environment says, against a name and certificates that the configuration
 * chose.
 */
import { isIP } from 'node:net'
import tls from 'node:tls'
import { buildConnector } from 'undici'
import type { Upstream } from '../config/config.ts'

/** How connections are made: each to the same name, by the same certificates. */
export function connectorTo({ origin, connectTimeoutMs, tls: trust }: Upstream): buildConnector.connector {
  const timeout = { timeout: connectTimeoutMs }
  const { protocol, hostname } = new URL(origin)
  if (protocol === 'http:') return buildConnector(timeout)
  const connect = buildConnector({
    ...timeout,
    rejectUnauthorized: true,
    secureContext: secureContext(trust),
  })
  // An address is checked against those in the certificate, and is no name to ask for.
  const servername = trust.serverName ?? (isIP(unbracketed(hostname)) === 0 ? hostname : '')
  return (options, callback) =>
    connect({ ...options, servername }, (...made) => {
      const socket = made[1] as tls.TLSSocket | null
      if (socket?.getProtocol() !== 'TLSv1.3' || trust.cert === undefined) return callback(...made)
      whenAccepted(socket, (error) => (error ? callback(error, null) : callback(null, socket)))
    })
}

/** How long a resource may take to say what it makes of the client certificate. */
const VERDICT_MS = 250

/**
 * In TLS 1.3 a client certificate is refused after the handshake has ended on this side, which a write would find
 * out too late to know that it was not read. A session ticket says that it was taken; who sends none is believed.
 */
function whenAccepted(socket: tls.TLSSocket, done: (error: Error | undefined) => void): void {
  let settled = false
  const settle = (error?: Error) => {
    if (settled) return
    settled = true
    clearTimeout(timer)
    socket.off('session', accepted).off('error', settle).off('close', closed)
    done(error)
  }
  // The event comes while OpenSSL reads: what is written then may stay where it is.
  const accepted = () => setImmediate(settle)
  const closed = () => settle(Object.assign(new Error('closed after the handshake'), { code: 'ECONNRESET' }))
  const timer = setTimeout(settle, VERDICT_MS)
  socket.on('session', accepted).on('error', settle).on('close', closed)
}

function secureContext({ ca, cert, key }: Upstream['tls']): tls.SecureContext {
  if (ca === undefined) trustSystem()
  return tls.createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  })
}

let systemIsTrusted = false

/** Trusts, where no CA is named, the system's, and those that Node brings only where the system has none. */
function trustSystem(): void {
  if (systemIsTrusted) return
  systemIsTrusted = true
  const system = tls.getCACertificates('system')
  if (system.length === 0) return
  // Its file and its directory hold the same ones.
  tls.setDefaultCACertificates([...new Set([...system, ...tls.getCACertificates('extra')])])
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** Why no connection could be made, for a person. */
export function connectFailure(error: Error & { code?: string }, origin: string): string {
  const code = error.code ?? error.name
  const remedy = REMEDIES.find(([codes]) => codes.test(code))?.[1]
  if (remedy === undefined) {
    return `No connection to ${origin} could be made (${code}). Nothing was sent; repeat the request later.`
  }
  return `No TLS connection to ${origin} could be made (${code}). ${remedy} Nothing was sent.`
}

/** By the code of the failure; the first that fits. */
const REMEDIES: readonly (readonly [codes: RegExp, remedy: string])[] = [
  [
    /ALERT/,
    'The resource refused the handshake: if it asks for a client certificate, name one that it takes in upstream.tls.cert.',
  ],
  [
    /ALTNAME/,
    'Its certificate is for another name: if it is the right one, write that name into upstream.tls.serverName.',
  ],
  [/EXPIRED|NOT_YET_VALID/, 'Its certificate is not valid now: renew it, or set the clock.'],
  [
    /CERT|SELF_SIGNED|ISSUER|VERIFY/,
    'Its certificate is not trusted: if it is the right one, name its CA in upstream.tls.ca.',
  ],
]
