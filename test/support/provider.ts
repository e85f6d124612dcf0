/**
 * A payment provider: an HTTP server that works for a while at each request, and keeps what it did. With `idempotent`
 * it knows its own repeats by their key, as Stripe does; without, each request that it gets to apply is one more
 * payment. It loses answers, and fails, as `random` says.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** The longest that it is at one request, and how long it is at the first. */
export const WORK_MS = 120

export interface Effect {
  /** As it was told. */
  readonly key: string
  readonly id: string
}

export class Provider {
  /** The keys of the requests that arrived, in order. */
  readonly received: string[] = []
  readonly effects: Effect[] = []
  readonly #idempotent: boolean
  readonly #random: () => number
  readonly #working = new Set<string>()
  readonly #server: http.Server

  private constructor(idempotent: boolean, random: () => number) {
    this.#idempotent = idempotent
    this.#random = random
    this.#server = http.createServer((req, res) => {
      req.resume().once('end', () => void this.#serve(req, res))
      res.on('error', () => {})
    })
  }

  static async start(idempotent: boolean, random: () => number): Promise<Provider> {
    const provider = new Provider(idempotent, random)
    provider.#server.listen(0, '127.0.0.1')
    await once(provider.#server, 'listening')
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    const closed = once(this.#server.close(), 'close')
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const key = req.headers['idempotency-key'] as string
    this.received.push(key)
    if (this.#idempotent) {
      const known = this.effects.find((effect) => effect.key === key)
      if (known) return answer(res, 201, { id: known.id })
      if (this.#working.has(key)) return answer(res, 409, { error: 'locked' })
    }
    this.#working.add(key)
    const workMs = this.received.length === 1 ? WORK_MS : this.#random() * WORK_MS
    await new Promise((resolve) => setTimeout(resolve, workMs))
    this.#working.delete(key)
    const chance = this.#random()
    if (chance < 0.1) return answer(res, 500, { error: 'down' })
    if (chance < 0.2) return void res.destroy()
    const id = `pay_${this.effects.length + 1}`
    this.effects.push({ key, id })
    if (chance < 0.35) res.destroy()
    else answer(res, 201, { id })
  }
}

function answer(res: http.ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
