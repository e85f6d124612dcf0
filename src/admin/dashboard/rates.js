/**
 * Rates from the counters that the sidecar's status tells: two readings make one. They go by the sidecar's clock, which
 * read the counters too.
 *
 * A sidecar that was started again counts from 0: its first reading is held against its start, so that what it counted
 * before this page asked isn't lost. A clock that was set back, or a counter that fell without a new start, makes a gap.
 */

/** @import { Status } from './types.js' */

/**
 * @typedef {object} Totals
 * @property {number} passed forwarded, or answered from the record
 * @property {number} refused
 * @property {number} observed would have been refused: their routes only observe
 * @property {number} stale part of those refused
 *
 * @typedef {{ atMs: number, rates: Totals | undefined }} Point `undefined` is a gap
 */

/** @type {readonly (keyof Totals)[]} */
const KINDS = ['passed', 'refused', 'observed', 'stale']
/** Longer than a poll that is late: the page was hidden, or cut off. */
const LONG_MS = 10_000
/** @type {Totals} */
const NOTHING = { passed: 0, refused: 0, observed: 0, stale: 0 }

/**
 * @param {Pick<Status, 'decisions' | 'staleRejections'>} status
 * @returns {Totals}
 */
export function totals({ decisions, staleRejections }) {
  const sum = { ...NOTHING, stale: staleRejections }
  for (const { decision, count } of decisions) {
    if (decision === 'forwarded' || decision === 'replayed') sum.passed += count
    else if (decision.startsWith('would-')) sum.observed += count
    else sum.refused += count
  }
  return sum
}

export class Rates {
  /** @type {{ startedAtMs: number, atMs: number, totals: Totals } | undefined} */
  #last

  /**
   * @param {Status} status
   * @returns {Point[]} what to draw: of a long time without readings its mean, from its begin to its end
   */
  take(status) {
    const now = { startedAtMs: status.startedAtMs, atMs: status.nowMs, totals: totals(status) }
    const last = this.#last
    this.#last = now
    if (last === undefined) return []
    const restarted = now.startedAtMs !== last.startedAtMs
    const from = restarted ? { atMs: now.startedAtMs, totals: NOTHING } : last
    const rates = between(from, now)
    if (rates === undefined) return [{ atMs: now.atMs, rates: undefined }]
    if (restarted && from.atMs <= last.atMs) return [{ atMs: now.atMs, rates }]
    /** @type {Point[]} */
    const points = []
    if (restarted) points.push({ atMs: from.atMs, rates: undefined })
    if (now.atMs - from.atMs > LONG_MS) points.push({ atMs: from.atMs + 1, rates })
    return [...points, { atMs: now.atMs, rates }]
  }
}

/**
 * @param {{ atMs: number, totals: Totals }} from
 * @param {{ atMs: number, totals: Totals }} to
 * @returns {Totals | undefined} each second
 */
function between(from, to) {
  const seconds = (to.atMs - from.atMs) / 1000
  if (seconds <= 0 || KINDS.some((kind) => to.totals[kind] < from.totals[kind])) return undefined
  const rates = { ...NOTHING }
  for (const kind of KINDS) rates[kind] = (to.totals[kind] - from.totals[kind]) / seconds
  return rates
}
