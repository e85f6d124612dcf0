/**
 * The control port: the admin API over a Unix socket in the data directory that only its user can open. So it asks for
 * no token, and takes its callers' word for who they are.
 */
import fs from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { AdminApi } from './api.ts'
import { makeServer } from './server.ts'

const REQUEST_MS = 10_000
/** A backup has nothing to say until it is done: there is no limit to its silence. */
const SILENCE_MS = 0

export class ControlPort {
  readonly #server: FastifyInstance
  readonly #api: AdminApi
  readonly #socket: string

  /** @param socket the path at which it listens. */
  constructor(socket: string, api: AdminApi, failed: (error: Error) => void) {
    this.#socket = socket
    this.#api = api
    this.#server = makeServer({ failed, requestTimeoutMs: REQUEST_MS, silenceMs: SILENCE_MS })
    this.#server.decorateRequest('tokenName', undefined)
  }

  async listen(): Promise<void> {
    await AdminApi.describe(this.#server)
    this.#api.addTo(this.#server, 'body')
    // The store's lock is held, so a socket that is there belongs to nobody any more.
    fs.rmSync(this.#socket, { force: true })
    await this.#server.listen({ path: this.#socket })
    fs.chmodSync(this.#socket, 0o600)
  }

  async close(): Promise<void> {
    await this.#server.close()
    fs.rmSync(this.#socket, { force: true })
  }
}
