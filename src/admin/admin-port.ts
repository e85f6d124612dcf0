/**
 * The admin port: health and metrics, the API, and the dashboard. It is up before the store and after the data port, so
 * that a start that waits can be seen.
 *
 * Invariant: on an address that other hosts reach it serves health and metrics alone, unless there are tokens.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Address, AdminTokens } from '../config/config.ts'
import { guard } from './access.ts'
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
  readonly #options: AdminPortOptions
  #server: FastifyInstance | undefined

  constructor(options: AdminPortOptions) {
    this.#options = options
  }

  async listen({ host, port }: Address): Promise<Address> {
    let isLocal = false
    const server = await adminServer(this.#options, () => isLocal)
    this.#server = server
    const bound = () => server.server.address() as AddressInfo
    server.server.once('listening', () => {
      isLocal = isLoopback(bound().address)
    })
    await server.listen({ host, port })
    return { host: bound().address, port: bound().port }
  }

  async close(): Promise<void> {
    await this.#server?.close()
  }
}

/** Whether what listens there can be reached from this host alone. */
function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./i.test(address)
}

/** @param isLocal whether only this host can reach it. */
export async function adminServer(
  { api, sources, tokens }: AdminPortOptions,
  isLocal: () => boolean,
): Promise<FastifyInstance> {
  const failed = (error: Error) => sources.failed(error)
  const server = makeServer({ failed, requestTimeoutMs: REQUEST_MS, silenceMs: SILENCE_MS })
  limitConnections(server.server, CONNECTIONS)
  server.addHook('onRequest', async ({ method, url, routeOptions }) => {
    if (isLocal() || tokens() || HEALTH_ROUTES.has(routeOptions.url)) return
    const path = url.split('?')[0]
    throw new RequestError(
      404,
      `there is no ${method} ${path} where other hosts reach it: set admin.tokenFile`,
    )
  })
  await AdminApi.describe(server)
  addHealth(server, sources)
  await server.register(async (guarded) => {
    await guard(guarded, {
      clock: sources.clock,
      tokens,
      shutOut: (address) =>
        sources.noted({ address }, 'too many wrong bearer tokens: this address is shut out'),
    })
    api.addTo(guarded, 'token')
  })
  await addDashboard(server)
  return server
}
