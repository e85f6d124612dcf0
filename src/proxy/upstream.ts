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
    const { serverName, ca, cert, key } = config.tls
    this.#servername =
      serverName ?? (protocol === 'https:' && isIP(unbracketed(hostname)) === 0 ? hostname : undefined)
    this.#pool = new Pool(config.origin, {
      connections: config.connections,
      pipelining: 1,
      allowH2: false,
      connect: {
        timeout: config.connectTimeoutMs,
        rejectUnauthorized: true,
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && key !== undefined && { cert, key }),
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

  /** Sends one request, once. Only `sending.ts` calls it, with a permit. */
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

  /** Whether requests wait because every connection is in use. */
  get contended(): boolean {
    return this.#pool.stats.queued > 0
  }

  /** Ends once every request has ended; takes none from now on. */
  close(): Promise<void> {
    return this.#pool.close()
  }

  /** Cuts what is still open. */
  destroy(): Promise<void> {
    return this.#pool.destroy()
  }
}

function unbracketed(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

/** One pool for each distinct upstream of the routes; a pool that no configuration names any more is let go of. */
export class Upstreams {
  readonly #pools = new Map<string, UpstreamPool>()
  readonly #retired = new Set<UpstreamPool>()

  of(upstream: Upstream): UpstreamPool {
    const key = JSON.stringify(upstream)
    let pool = this.#pools.get(key)
    if (!pool) {
      pool = new UpstreamPool(upstream)
      this.#pools.set(key, pool)
    }
    return pool
  }

  /** Lets go of every pool but these, once what runs on it has ended. */
  keep(wanted: ReadonlySet<UpstreamPool>): void {
    for (const [key, pool] of this.#pools) {
      if (wanted.has(pool)) continue
      this.#pools.delete(key)
      this.#retired.add(pool)
      void pool.close().then(() => this.#retired.delete(pool))
    }
  }

  get states(): UpstreamState[] {
    return [...this.#pools.values()].map((pool) => pool.state)
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values(), ...this.#retired]
    await Promise.all(pools.map((pool) => pool.destroy()))
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
