/**
 * Grants leases: one holder a task at a time, each with a higher token than the one before. Its answers to renewals
 * are late at random, so that a holder whose lease has ended goes on writing.
 */
import { now } from '../support/history-log.ts'
import { between, type Random } from './random.ts'

const LEASE_MS = { from: 150, to: 700 }

interface Lease {
  readonly token: bigint
  readonly holder: string
  until: number
}

export interface LeaseOrder {
  readonly kind: 'acquire' | 'renew'
  readonly task: string
  /** Of the lease to renew. */
  readonly token?: string
  /** Names the request in the answer. */
  readonly n: number
}
export interface LeaseAnswer {
  readonly n: number
  readonly token: string | undefined
  readonly leaseMs: number
}

export class Authority {
  readonly #leases = new Map<string, Lease>()
  readonly #tokens = new Map<string, bigint>()
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** A token above all that were granted; who holds a lease loses it. */
  next(task: string): bigint {
    const token = (this.#tokens.get(task) ?? 0n) + BigInt(between(this.#random, 1, 4))
    this.#tokens.set(task, token)
    this.#leases.delete(task)
    return token
  }

  async answer(holder: string, { kind, task, token, n }: LeaseOrder): Promise<LeaseAnswer> {
    const leaseMs = between(this.#random, LEASE_MS.from, LEASE_MS.to)
    const lease = this.#leases.get(task)
    if (kind === 'acquire') {
      if (lease && lease.until > now()) return { n, token: undefined, leaseMs }
      const granted = this.next(task)
      this.#leases.set(task, { token: granted, holder, until: now() + leaseMs })
      return { n, token: granted.toString(), leaseMs }
    }
    await new Promise((resolve) => setTimeout(resolve, between(this.#random, 0, 250)))
    const current = this.#leases.get(task)
    if (!current || current.token.toString() !== token || current.until <= now())
      return { n, token: undefined, leaseMs }
    current.until = now() + leaseMs
    return { n, token, leaseMs }
  }
}
