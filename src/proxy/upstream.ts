/**
 * The connections to one origin. Every option that matters to the promise stands here: nothing is pipelined,
 * nothing is retried.
 */
import { type buildConnector, type Dispatcher, Pool } from 'undici'
import type { Upstream } from '../config/config.ts'
import { connectorTo } from './upstream-connector.ts'

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
  /** undici would take it from the request's Host, and a client could choose whose certificate is right. */
  readonly #servername: string
  #state: UpstreamState['state'] = 'unknown'

  constructor(config: Upstream) {
    this.config = config
    this.#servername = new URL(config.origin).hostname
    this.#pool = new Pool(config.origin, {
      connections: config.connections,
      pipelining: 1,
      allowH2: false,
      connect: tellingResets(connectorTo(config)),
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
        servername: this.#servername,
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

/**
 * undici takes a reset for the end of an answer that has no length, and half of one would pass for the whole. By a
 * code that it doesn't know, a reset is a failure like any other.
 */
function tellingResets(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...made) => {
      made[1]?.on('error', (error: Error & { code?: string }) => {
        if (error.code === 'ECONNRESET') error.code = 'CONNECTION_RESET'
      })
      callback(...made)
    })
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
      const gone = () => this.#retired.delete(pool)
      // It fails if the pool is destroyed meanwhile, which does as well.
      void pool.close().then(gone, gone)
    }
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values(), ...this.#retired]
    await Promise.all(pools.map((pool) => pool.destroy()))
  }
}
