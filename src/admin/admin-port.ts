/**
 * The admin port: `/livez` (the process answers), `/readyz` (the store is open and writes are served) and
 * `/metrics`. It is up before the store and after the data port, so that a start that waits can be seen.
 */
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import type { Address } from '../config/config.ts'

export type Phase = 'starting' | 'serving' | 'stopping'

export interface Health {
  readonly phase: Phase
  /** Whether an unclean stop is still being waited out: current holders are served, handovers wait. */
  readonly grace: boolean
  readonly store: { readonly tasks: number; readonly commitSequence: number } | undefined
  /** Shown, not required: a resource that is down is not a reason to restart the sidecar. */
  readonly upstreams: readonly { readonly origin: string; readonly state: string }[]
}

export class AdminPort {
  readonly #fastify: FastifyInstance

  constructor(health: () => Health, registry: () => Registry) {
    this.#fastify = Fastify({ logger: false, forceCloseConnections: true })
    this.#fastify.get('/livez', async () => ({ status: 'alive' }))
    this.#fastify.get('/readyz', async (_request, reply) => {
      const state = health()
      const ready = state.phase === 'serving'
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : state.phase, ...state })
    })
    this.#fastify.get('/metrics', async (_request, reply) => {
      return reply.type(registry().contentType).send(await registry().metrics())
    })
  }

  async listen({ host, port }: Address): Promise<Address> {
    await this.#fastify.listen({ host, port })
    const address = this.#fastify.server.address() as { address: string; port: number }
    return { host: address.address, port: address.port }
  }

  close(): Promise<void> {
    return this.#fastify.close()
  }
}
