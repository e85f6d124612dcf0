/**
 * The HTTP server that clients speak to, plain or over TLS: Node's, with every default that would change or answer
 * a request behind our back turned off.
 */
import { constants } from 'node:crypto'
import http, { type IncomingMessage, type RequestListener } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { DataPortTls, Limits } from '../config/config.ts'
import type { ClientConnections } from './client-connections.ts'
import { lookAtFirstMethod } from './first-method.ts'

export type ClientServer = http.Server | https.Server

export interface ClientHandlers {
  readonly request: RequestListener
  /** Whether a connection may change to another protocol after this request. */
  readonly mayUpgrade: (req: IncomingMessage) => boolean
  /** A request of that kind; the parser has let go of its connection. `ahead` is what came behind its head. */
  readonly upgrade: (req: IncomingMessage, socket: Socket, ahead: Buffer) => void
  /** No TLS connection came about. */
  readonly handshakeFailed: (error: Error, socket: Socket) => void
}

export function createClientServer(
  limits: Limits,
  tls: DataPortTls | undefined,
  connections: ClientConnections,
  { request, mayUpgrade, upgrade, handshakeFailed }: ClientHandlers,
): ClientServer {
  const options: http.ServerOptions = {
    maxHeaderSize: limits.headSizeBytes,
    headersTimeout: limits.headTimeoutMs,
    // A body may take as long as it likes: a successor is not kept out by it longer than drainLimit.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headTimeoutMs),
    insecureHTTPParser: false,
    // Node's own answer would have no body, and it takes two of them.
    requireHostHeader: false,
    noDelay: true,
    shouldUpgradeCallback: mayUpgrade,
  }
  const server = tls
    ? https.createServer({ ...options, ...secureContext(tls), ...handshake(tls, limits) }, request)
    : http.createServer(options, request)
  // Node drops header fields past this number without a word; `limits.headerCount` refuses them.
  server.maxHeadersCount = 0
  intercept(server, tls ? 'secureConnection' : 'connection', (socket, passOn) =>
    lookAtFirstMethod(socket, limits.headTimeoutMs, passOn),
  )
  intercept(server, 'connection', (socket, passOn) => {
    if (connections.admit(socket, tls === undefined)) passOn()
  })
  server.on('connect', (_req, socket) => connections.tunnel(socket as Socket))
  server.on('checkContinue', request)
  server.on('checkExpectation', request)
  server.on('upgrade', (req, socket, ahead) => upgrade(req, socket as Socket, ahead))
  server.on('clientError', (error, socket) => connections.failed(error, socket as Socket))
  // Node would have it answered as a request that could not be read.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (error, socket) => {
    handshakeFailed(error, socket)
    socket.destroy()
  })
  return server
}

/**
 * Node judges a client once, when its first handshake has ended: the certificate of a second one would stand under
 * the verdict on the first. For the same reason no session is resumed where clients are asked for certificates: it
 * would keep a verdict that a new CA could not take back.
 */
const NO_RENEGOTIATION = constants.SSL_OP_NO_RENEGOTIATION

/** What can change while connections are open: new ones see it. Whatever of it is left out is Node's default. */
export function secureContext({ cert, key, clientCa }: DataPortTls) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    ...(clientCa !== undefined && { ca: clientCa }),
    secureOptions: clientCa === undefined ? NO_RENEGOTIATION : NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
  }
}

function handshake({ clientCa, clientCertificate }: DataPortTls, { headTimeoutMs }: Limits) {
  return {
    handshakeTimeout: headTimeoutMs,
    requestCert: clientCa !== undefined,
    rejectUnauthorized: clientCa !== undefined && clientCertificate === 'required',
    ALPNProtocols: ['http/1.1'],
  }
}

/** Puts `look` before whoever listens for the event now. */
function intercept(server: ClientServer, event: string, look: (socket: Socket, passOn: () => void) => void) {
  const listeners = server.listeners(event) as ((socket: Socket) => void)[]
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) =>
    look(socket, () => {
      for (const listener of listeners) listener.call(server, socket)
    }),
  )
}
