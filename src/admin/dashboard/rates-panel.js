/** The two charts, and the rates behind them, which other parts of the page ask for. */
import { Chart, SPAN_MS } from './chart.js'
import { byId } from './dom.js'
import { Rates } from './rates.js'
import { Ring } from './ring.js'

/** @import { Status } from './types.js' */
/** @import { Totals } from './rates.js' */

/** @type {readonly (keyof Totals)[]} */
const COLUMNS = ['passed', 'refused', 'observed', 'stale']
const [PASSED, REFUSED, OBSERVED, STALE] = [0, 1, 2, 3]
/** One every two seconds, and some to spare. */
const POINTS = 500
const MINUTE_MS = 60_000

export class RatesPanel {
  #rates = new Rates()
  #ring = new Ring(POINTS, COLUMNS.length)
  #charts = [
    new Chart(byId('stale-chart'), byId('stale-legend'), this.#ring, [
      { name: 'stale', column: STALE, colour: '--refused-line', dash: [] },
    ]),
    new Chart(byId('decisions-chart'), byId('decisions-legend'), this.#ring, [
      { name: 'passed', column: PASSED, colour: '--passed-line', dash: [] },
      { name: 'refused', column: REFUSED, colour: '--refused-line', dash: [6, 4] },
      { name: 'would refuse', column: OBSERVED, colour: '--observed-line', dash: [2, 3] },
    ]),
  ]
  /** Of the last two readings. */
  stalePerSecond = 0
  /** Writes rejected as stale. */
  staleLastMinute = 0

  /** @param {Status} status */
  take(status) {
    for (const { atMs, rates } of this.#rates.take(status)) {
      this.#ring.push(
        atMs,
        COLUMNS.map((kind) => rates?.[kind] ?? null),
      )
    }
    this.#ring.dropBefore(status.nowMs - SPAN_MS)
    this.stalePerSecond = this.#ring.newest(STALE) ?? 0
    this.staleLastMinute = Math.round(this.#ring.total(STALE, status.nowMs - MINUTE_MS))
    for (const chart of this.#charts) chart.draw(status.nowMs)
  }
}
