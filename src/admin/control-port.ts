/**
 * The control port: operators' acts on the running sidecar, and its record, over a Unix socket in the data directory
 * that only its user can open.
 */
import fs from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import { ActError, type Operator } from '../gate/operator.ts'
import { type MarkStore, StoreError } from '../store/mark-store.ts'
import { addActRoutes } from './act-routes.ts'
import { addRecordRoutes } from './record-routes.ts'

/** Longest task name, each of its characters escaped. */
const MAX_PARAM_LENGTH = 3 * 256

export class ControlPort {
  readonly #fastify: FastifyInstance
  readonly #socket: string

  /** @param socket the path at which it listens. */
  constructor(socket: string, operator: Operator, store: MarkStore) {
    this.#socket = socket
    this.#fastify = Fastify({
      logger: false,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
      // By default a misspelt key would be dropped in silence, and a token that is a number rounded.
      ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
    })
    this.#fastify.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
      const status = error instanceof ActError ? 409 : error instanceof StoreError ? 503 : error.statusCode
      return reply.code(status ?? 500).send({ error: error.message })
    })
    addActRoutes(this.#fastify, operator, store)
    addRecordRoutes(this.#fastify, store)
  }

  async listen(): Promise<void> {
    // The store's lock is held, so a socket that is there belongs to nobody any more.
    fs.rmSync(this.#socket, { force: true })
    await this.#fastify.listen({ path: this.#socket })
    fs.chmodSync(this.#socket, 0o600)
  }

  async close(): Promise<void> {
    await this.#fastify.close()
    fs.rmSync(this.#socket, { force: true })
  }
}
