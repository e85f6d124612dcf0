/**
 * The admin port: health and metrics, the API, and the dashboard. It is up before the store and after the data port, so
 * that a start that waits can be seen.
 *
 * Invariant: on an address that other hosts reach it serves health and metrics alone, unless there are tokens.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Address, AdminTokens } from '../config/config.ts'
import { guard, isLoopback } from './access.ts'
import { AdminApi } from './api.ts'
import { limitConnections } from './connections.ts'
import { addDashboard } from './dashboard-files.ts'
import { addHealth, HEALTH_ROUTES } from './health.ts'
import { RequestError } from './request-error.ts'
import { makeServer } from './server.ts'
import type { Sources } from './sources.ts'

const CONNECTIONS = 256
const REQUEST_MS = 10_000
const SILENCE_MS = 30_000

export interface AdminPortOptions {
  readonly api: AdminApi
  readonly sources: Sources
  tokens(): AdminTokens | undefined
}

export class AdminPort {
  readonly #server: FastifyInstance
  readonly #options: AdminPortOptions
  #isLocal = false

  constructor(options: AdminPortOptions) {
    this.#options = options
    const failed = (error: Error) => options.sources.failed(error)
    this.#server = makeServer({ failed, requestTimeoutMs: REQUEST_MS, silenceMs: SILENCE_MS })
    limitConnections(this.#server.server, CONNECTIONS)
  }

  async listen({ host, port }: Address): Promise<Address> {
    await this.#addRoutes()
    // Before the first request comes.
    this.#server.server.once('listening', () => {
      this.#isLocal = isLoopback(this.#address.address)
    })
    await this.#server.listen({ host, port })
    const bound = this.#address
    return { host: bound.address, port: bound.port }
  }

  get #address(): AddressInfo {
    return this.#server.server.address() as AddressInfo
  }

  close(): Promise<void> {
    return this.#server.close()
  }

  async #addRoutes(): Promise<void> {
    const { api, sources, tokens } = this.#options
    const server = this.#server
    server.addHook('onRequest', async ({ method, url, routeOptions }) => {
      if (this.#isLocal || tokens() || HEALTH_ROUTES.has(routeOptions.url)) return
      throw new RequestError(
        404,
        `there is no ${method} ${url.split('?')[0]} on an address that other hosts reach: set admin.tokenFile`,
      )
    })
    await AdminApi.describe(server)
    addHealth(server, sources)
    await server.register(async (guarded) => {
      await guard(guarded, {
        clock: sources.clock,
        tokens,
        shutOut: (address) =>
          sources.noted({ address }, 'too many wrong bearer tokens: the address is shut out for a minute'),
      })
      api.addTo(guarded, 'token')
    })
    await addDashboard(server)
  }
}
