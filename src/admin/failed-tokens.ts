/**
 * Counts wrong bearer tokens by the address that they come from, and shuts an address out that brings too many.
 *
 * Invariant: the table is bounded. An IPv6 host has a whole /64 to come from, so that counts as one address.
 */
import net from 'node:net'
import type { Clock } from '../clock.ts'

const MAX_FAILURES = 10
const WINDOW_MS = 60_000
const MAX_ADDRESSES = 1024

interface Window {
  failures: number
  /** Monotonic milliseconds. */
  readonly until: number
}

export class FailedTokens {
  readonly #clock: Clock
  /** In the order in which they began, which is that in which they end. */
  readonly #windows = new Map<string, Window>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#windows.size
  }

  /** For how long the address is shut out yet, in milliseconds; 0 if it isn't. */
  shutOutMs(address: string): number {
    const window = this.#windows.get(hostOf(address))
    if (!window || window.failures < MAX_FAILURES) return 0
    return Math.max(0, window.until - this.#clock.now())
  }

  /** Returns whether this is the failure that shuts the address out. */
  failed(address: string): boolean {
    const now = this.#clock.now()
    for (const [host, { until }] of this.#windows) {
      if (until > now && this.#windows.size < MAX_ADDRESSES) break
      // Over, or the one that is over first.
      this.#windows.delete(host)
    }
    const host = hostOf(address)
    const window = this.#windows.get(host) ?? { failures: 0, until: now + WINDOW_MS }
    this.#windows.set(host, window)
    window.failures++
    return window.failures === MAX_FAILURES
  }
}

function hostOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !net.isIPv6(address)) return mapped ?? address
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const left = groups(head)
  const zeros = tail === undefined ? 0 : 8 - left.length - groups(tail).length
  const all = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...groups(tail ?? '')]
  return all.slice(0, 4).join(':')
}
