/**
 * The admin API: every route under `/v1`, the same on the admin port and on the control socket, and the OpenAPI document
 * of them, made of the schemas that check requests and write answers.
 */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { version } from '../version.ts'
import { ActsUnderWay, type AuthorIn, addActRoutes } from './acts.ts'
import { JournalStreams } from './journal-stream.ts'
import { addRecordRoutes } from './records.ts'
import * as s from './schemas.ts'
import type { Sources } from './sources.ts'
import { addStateRoutes } from './state.ts'
import { addStreamRoute } from './stream-route.ts'
import { addTaskRoutes } from './tasks.ts'

export const OPENAPI_ROUTE = '/v1/openapi.json'

export class AdminApi {
  readonly #sources: Sources
  readonly #acts: ActsUnderWay
  readonly #streams: JournalStreams

  constructor(sources: Sources) {
    this.#sources = sources
    this.#acts = new ActsUnderWay(sources)
    this.#streams = new JournalStreams(sources.clock)
  }

  /** Prepares a server for {@link addTo}: routes that are added before the next `await` are in no document. */
  static async describe(server: FastifyInstance): Promise<void> {
    await server.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'fencegate admin API',
          version,
          description:
            'Tokens are strings, times wall clock in milliseconds since the epoch. Errors are `{ "error": sentence }`.',
        },
        components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      },
    })
  }

  addTo(on: FastifyInstance, author: AuthorIn): void {
    addStateRoutes(on, this.#sources, () => this.#streams.size)
    addTaskRoutes(on, this.#sources)
    addRecordRoutes(on, this.#sources)
    addStreamRoute(on, this.#sources, this.#streams)
    addActRoutes(on, this.#acts, author)
    on.get(
      OPENAPI_ROUTE,
      { schema: { summary: 'This document', tags: ['state'], response: s.answers(s.open('OpenAPI 3.1')) } },
      async () => on.swagger(),
    )
  }

  get actsUnderWay(): number {
    return this.#acts.size
  }

  /** Ends the streams. */
  close(): void {
    this.#streams.close()
  }
}
