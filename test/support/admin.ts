/** The admin API on a gate and a store in memory: its servers, to be asked by `inject`, and what they are about. */

import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { adminServer } from '../../src/admin/admin-port.ts'
import { AdminApi } from '../../src/admin/api.ts'
import { makeServer } from '../../src/admin/server.ts'
import type { InForce, Phase, Sources } from '../../src/admin/sources.ts'
import type { AdminTokens, Config } from '../../src/config/config.ts'
import { Admission, NO_WRITE, type WriteRule } from '../../src/gate/admission.ts'
import { Gate } from '../../src/gate/gate.ts'
import { Operator } from '../../src/gate/operator.ts'
import type { Permit } from '../../src/gate/permit.ts'
import { Usage } from '../../src/gate/usage.ts'
import { Metrics } from '../../src/metrics/metrics.ts'
import { MAX_TOKEN, type Token } from '../../src/token.ts'
import { MemoryMarkStore } from './memory-mark-store.ts'
import { MemoryDisk } from './store-memory-disk.ts'
import { VirtualClock } from './virtual-clock.ts'

export const TOKEN = 'ana-has-this-token-0123456789'

export function tokensOf(named: Readonly<Record<string, string>>): AdminTokens {
  return {
    othersMayRead: false,
    named: Object.entries(named).map(([name, token]) => ({
      name,
      digest: createHash('sha256').update(token).digest(),
    })),
  }
}

export class AdminRig {
  readonly clock = new VirtualClock(1000)
  readonly store = new MemoryMarkStore(new MemoryDisk(0n), { automatic: true })
  readonly gate: Gate
  readonly operator: Operator
  readonly api: AdminApi
  readonly failures: Error[] = []
  readonly notes: object[] = []
  tokens: AdminTokens | undefined = tokensOf({ ana: TOKEN })
  phase: Phase = 'serving'
  isLocal = true
  isRunning = true
  inForce: InForce

  constructor(config: Config) {
    const { store, clock } = this
    const metrics = new Metrics('test', {
      openWrites: () => 0,
      oldestOpenWriteSeconds: () => 0,
      handoversPending: () => 0,
      tasks: () => 0,
      frozenTasks: () => 0,
      unresolvedOutcomes: () => 0,
      commitSequence: () => 0,
      storeCreatedSeconds: () => 0,
    })
    this.inForce = { file: undefined, config, warnings: [], lastReload: undefined }
    this.gate = new Gate({
      ...{ store, clock, handoverTimeoutMs: 1000, drainLimitMs: 3000, graceMs: 0, storeTimeoutMs: 400 },
      ...{ cachedTasks: 10, maxTokenJump: undefined },
      limits: { openWrites: 100, openWritesPerTask: 100, waitersPerTask: 1000 },
      observer: { raised: (ms) => metrics.raised(ms), handedOver: () => {}, used: () => {} },
    })
    const usage = new Usage(store, clock)
    this.operator = new Operator({ gate: this.gate, store, usage, clock, maxToken: MAX_TOKEN })
    this.api = new AdminApi(this.#sources(metrics))
    this.#metrics = metrics
  }
  readonly #metrics: Metrics

  #sources(metrics: Metrics): Sources {
    return {
      clock: this.clock,
      metrics,
      startedAtMs: 0,
      phase: () => this.phase,
      grace: () => this.gate.inGrace,
      running: () =>
        this.isRunning ? { store: this.store, view: this.gate.view, operator: this.operator } : undefined,
      configuration: () => this.inForce,
      upstreams: () => [{ origin: 'http://127.0.0.1:9200', state: 'up' }],
      failed: (error) => this.failures.push(error),
      noted: (facts) => this.notes.push(facts),
    }
  }

  /** As the admin port serves it. */
  async adminServer(): Promise<FastifyInstance> {
    const sources = this.#sources(this.#metrics)
    const options = { api: this.api, sources, tokens: () => this.tokens }
    return injectable(await adminServer(options, () => this.isLocal))
  }

  /** As the control socket serves it. */
  async socketServer(): Promise<FastifyInstance> {
    const server = makeServer({
      failed: (error) => this.failures.push(error),
      requestTimeoutMs: 0,
      silenceMs: 0,
    })
    server.decorateRequest('tokenName', undefined)
    await AdminApi.describe(server)
    this.api.addTo(server, 'body')
    return injectable(server)
  }

  /** A write that is at work in the resource. */
  async begun(task: string, token: Token, rule: Partial<WriteRule> = {}): Promise<Permit> {
    const facts = { route: 'settlements', method: 'POST', target: `/${task}`, operation: 'op' }
    const claim = { task, token, holder: `holder-${token}` }
    const permit = await this.gate.admit(new Admission(claim, { ...NO_WRITE, ...rule }, facts))
    if ('code' in permit) throw new Error(`refused: ${permit.code}`)
    if (!permit.begin()) throw new Error('could not begin')
    return permit
  }
}

/** The connection of an injected request can't time out, so it has no way to say so. */
function injectable(server: FastifyInstance): FastifyInstance {
  server.addHook('onRequest', async ({ socket }) => {
    socket.setTimeout ??= () => socket
  })
  return server
}
