/**
 * The connections to one origin. Every option that matters to the promise stands here: TLS is verified,
 * nothing is pipelined, nothing is retried.
 */
import { isIP } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import type { Upstream } from '../config/config.ts'

/** An answer's head: several times what resources send. A larger one is an unknown outcome. */
const MAX_ANSWER_HEAD_BYTES = 64 * 1024

/** What is known of a resource from the last exchange with it. */
export interface UpstreamState {
  readonly origin: string
  readonly state: 'unknown' | 'reachable' | 'unreachable'
}

export class UpstreamPool {
  readonly config: Upstream
  readonly #pool: Pool
  readonly #servername: string | undefined
  #state: UpstreamState['state'] = 'unknown'

  constructor(config: Upstream) {
    this.config = config
    const { protocol, hostname } = new URL(config.origin)
    // A preserved Host must not choose the certificate's name.
    this.#servername = protocol === 'https:' && isIP(unbracketed(hostname)) === 0 ? hostname : undefined
    this.#pool = new Pool(config.origin, {
      connections: config.connections,
      pipelining: 1,
      allowH2: false,
      connect: {
        timeout: config.connectTimeoutMs,
        rejectUnauthorized: true,
        ...(config.tls.ca === undefined ? {} : { ca: config.tls.ca }),
      },
      headersTimeout: config.headersTimeoutMs,
      bodyTimeout: config.bodyTimeoutMs,
      keepAliveTimeout: config.keepAliveTimeoutMs,
      strictContentLength: true,
      maxHeaderSize: MAX_ANSWER_HEAD_BYTES,
    })
    this.#pool.on('connect', () => {
      this.#state = 'reachable'
    })
    this.#pool.on('connectionError', () => {
      this.#state = 'unreachable'
    })
  }

  get state(): UpstreamState {
    return { origin: this.config.origin, state: this.#state }
  }

  /** Sends one request, once. Who may call it for a fenced write is `fenced-write.ts`'s business. */
  dispatch(options: Omit<Dispatcher.DispatchOptions, 'origin'>, handler: Dispatcher.DispatchHandler): void {
    this.#pool.dispatch(
      // `idempotent: false`: never beside another request on one connection.
      {
        ...options,
        idempotent: false,
        ...(this.#servername && { servername: this.#servername }),
      } as Dispatcher.DispatchOptions,
      handler,
    )
  }

  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    return this.#pool.request({
      ...options,
      ...(this.#servername && { servername: this.#servername }),
    } as Dispatcher.RequestOptions)
  }

  /** Cuts what is still open. */
  destroy(): Promise<void> {
    return this.#pool.destroy()
  }
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** One pool for each distinct upstream of the routes. */
export class Upstreams {
  readonly #pools = new Map<string, UpstreamPool>()

  of(upstream: Upstream): UpstreamPool {
    const key = JSON.stringify(upstream)
    let pool = this.#pools.get(key)
    if (!pool) {
      pool = new UpstreamPool(upstream)
      this.#pools.set(key, pool)
    }
    return pool
  }

  get states(): UpstreamState[] {
    return [...this.#pools.values()].map((pool) => pool.state)
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()))
  }
}

const CERTIFICATE_ERROR = /CERT|SELF_SIGNED|ISSUER|VERIFY|ALTNAME/

export function isCertificateError({ code }: Error & { code?: string }): boolean {
  return CERTIFICATE_ERROR.test(code ?? '')
}

/** Why no connection could be made, for a person. */
export function connectFailure(error: Error & { code?: string }, origin: string): string {
  const code = error.code ?? error.name
  if (isCertificateError(error)) {
    return (
      `The certificate of ${origin} is not trusted (${code}). If it is right, name its CA in ` +
      'upstream.tls.ca. Nothing was sent.'
    )
  }
  return `No connection to ${origin} could be made (${code}). Nothing was sent; repeat the request later.`
}
