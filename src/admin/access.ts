/**
 * Who may do what on the admin port.
 *
 * Invariants: an act needs a bearer token, wherever it comes from; a read needs one unless it comes from this very host,
 * not by way of a proxy, and by a name that no other site can take over (DNS rebinding). A token is compared with every
 * one there is, by digests and in constant time, and is never in a log or an answer.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import net from 'node:net'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { AdminTokens } from '../config/config.ts'
import { OPENAPI_ROUTE } from './api.ts'
import { FailedTokens } from './failed-tokens.ts'
import { RequestError } from './request-error.ts'

export interface AccessOptions {
  readonly clock: Clock
  tokens(): AdminTokens | undefined
  /** An address brought so many wrong tokens that it is shut out for a while. */
  shutOut(address: string): void
}

/** From now on, the routes that are added to `on` ask for what they need. */
export async function guard(on: FastifyInstance, { clock, tokens, shutOut }: AccessOptions): Promise<void> {
  const failed = new FailedTokens(clock)
  on.decorateRequest('tokenName', undefined)
  await on.register(bearerAuth, {
    addHook: false,
    keys: [],
    // Names of schemes are the same in either case.
    specCompliance: 'rfc6749',
    auth: (token, request) => {
      request.tokenName = nameOf(token, tokens())
      return request.tokenName !== undefined
    },
  })
  const verify = (request: FastifyRequest, reply: FastifyReply) =>
    new Promise<void>((resolve, reject) => {
      on.verifyBearerAuth?.(request, reply, (error) => (error ? reject(error) : resolve()))
    })

  on.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url === OPENAPI_ROUTE || mayReadWithoutToken(request)) return
    if (tokens() === undefined) throw noTokens(request)
    const address = request.socket.remoteAddress ?? ''
    const waitMs = failed.shutOutMs(address)
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000)
      throw new RequestError(429, `too many wrong tokens came from ${address}: wait ${seconds} s`, seconds)
    }
    requireOneField(request)
    try {
      await verify(request, reply)
    } catch {
      if (request.headers.authorization !== undefined && failed.failed(address)) shutOut(address)
      reply.header('WWW-Authenticate', 'Bearer realm="fencegate"')
      throw new RequestError(401, unauthorized(request))
    }
  })
}

/** Throws where the request reads, but by a name that somebody else may have chosen, and without a token. */
function mayReadWithoutToken({ method, socket, headers }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  const isProxied = headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined
  if (!isRead || isProxied || !isLoopback(socket.remoteAddress)) return false
  if (isOwnName(headers.host)) return true
  if (headers.authorization !== undefined) return false
  throw new RequestError(
    421,
    'the Host is neither localhost nor an IP address: without a token reads are for this host alone, by those names',
  )
}

/** Whether it is an address of this host that no other can use. */
export function isLoopback(address = ''): boolean {
  return address === '::1' || /^(::ffff:)?127\./i.test(address)
}

/** `localhost` or an IP address, with or without a port. */
function isOwnName(host = ''): boolean {
  const name = host.replace(/:\d{1,5}$/, '')
  if (name.startsWith('[') && name.endsWith(']')) return net.isIPv6(name.slice(1, -1))
  return net.isIPv4(name) || name.toLowerCase() === 'localhost'
}

/** What a proxy and this server might read differently. */
function requireOneField({ raw }: FastifyRequest): void {
  const fields = raw.rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'authorization')
  if (fields.length <= 1) return
  throw new RequestError(400, 'Authorization is there more than once: send one bearer token')
}

function noTokens({ method }: FastifyRequest): RequestError {
  const what = method === 'GET' ? 'reads from elsewhere than this host' : 'acts'
  return new RequestError(
    403,
    `no ${what} on the admin port: set admin.tokenFile to a file with bearer tokens, or use the control socket in the ` +
      'data directory, as the fencegate commands do',
  )
}

function unauthorized({ headers: { authorization } }: FastifyRequest): string {
  if (authorization === undefined) {
    return 'a bearer token is missing: send "Authorization: Bearer TOKEN" with one of admin.tokenFile'
  }
  return 'the Authorization field holds no bearer token of admin.tokenFile: send "Bearer" and one of those'
}

function nameOf(token: string, tokens: AdminTokens | undefined): string | undefined {
  const digest = createHash('sha256').update(token).digest()
  let found: string | undefined
  for (const { name, digest: own } of tokens?.named ?? []) {
    if (timingSafeEqual(digest, own)) found = name
  }
  return found
}
