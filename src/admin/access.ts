/**
 * Who may do what on the admin port.
 *
 * Invariants: an act needs a bearer token, wherever it comes from; a read needs one unless it comes from this very host,
 * not by way of a proxy, by a name that no other site can take over (DNS rebinding), and not for another site's page. A
 * token is compared with every one there is, by digests and in constant time, and is never in a log or an answer; what
 * goes on after the answer has begun ends when its token does.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import net from 'node:net'
import bearerAuth from '@fastify/bearer-auth'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { AdminTokens } from '../config/config.ts'
import { OPENAPI_ROUTE } from './api.ts'
import { FailedTokens } from './failed-tokens.ts'
import { RequestError } from './request-error.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the bearer token that came with the request is none any more; absent where none was asked for. */
    isRevoked: (() => boolean) | undefined
  }
}

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
  on.decorateRequest('isRevoked', undefined)
  await on.register(bearerAuth, {
    addHook: false,
    keys: [],
    // Names of schemes are the same in either case.
    specCompliance: 'rfc6749',
    auth: (token, request) => {
      const digest = createHash('sha256').update(token).digest()
      request.tokenName = nameOf(digest, tokens())
      request.isRevoked = () => nameOf(digest, tokens()) === undefined
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

/** Throws where the request reads, but for somebody who may be elsewhere, and without a token. */
function mayReadWithoutToken({ method, socket, headers }: FastifyRequest): boolean {
  const isProxied = Object.keys(headers).some((name) => PROXY_FIELD.test(name))
  if (method !== 'GET' || isProxied || !isThisHost(socket.remoteAddress)) return false
  if (isOwnName(headers.host) && !isOfOtherPage(headers)) return true
  if (headers.authorization !== undefined) return false
  if (isOwnName(headers.host))
    throw new RequestError(
      403,
      "Sec-Fetch-Site says that another site's page asks: it gets nothing without a token",
    )
  throw new RequestError(
    421,
    'the Host is neither localhost nor an IP address: without a token reads are for this host alone, by those names',
  )
}

/** What says that a request came by way of a proxy, which others can reach. */
const PROXY_FIELD = /^(forwarded|via|x-real-ip|x-forwarded-.*)$/

/** The rest of 127.0.0.0/8 is no proof: a mesh's proxy passes on what comes from elsewhere from 127.0.0.6. */
function isThisHost(peer = ''): boolean {
  return peer === '::1' || /^(::ffff:)?127\.0\.0\.1$/i.test(peer)
}

/** A page can't read the answers, but would take the places of those who can. One may link here. */
function isOfOtherPage({ 'sec-fetch-site': site, 'sec-fetch-mode': mode }: IncomingHttpHeaders): boolean {
  return (site === 'cross-site' || site === 'same-site') && mode !== 'navigate'
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

function nameOf(digest: Buffer, tokens: AdminTokens | undefined): string | undefined {
  let found: string | undefined
  for (const { name, digest: own } of tokens?.named ?? []) {
    if (timingSafeEqual(digest, own)) found = name
  }
  return found
}
