/** The dashboard makes rates of counters, and keeps them in a bounded ring. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dashboard } from '../support/dashboard.ts'

const { Rates, totals } = await dashboard('rates')
const { Ring } = await dashboard('ring')

const STARTED = 1_000_000

/** A status `seconds` after the start, with these counts. */
function status(seconds: number, counts: Record<string, number> = {}, startedAtMs = STARTED) {
  const decisions = Object.entries(counts).map(([decision, count]) => ({ route: 'none', decision, count }))
  return {
    startedAtMs,
    nowMs: STARTED + seconds * 1000,
    decisions,
    staleRejections: counts['stale-token'] ?? 0,
  }
}

const rates = (passed: number, refused = 0, observed = 0, stale = 0) => ({ passed, refused, observed, stale })

describe('totals', () => {
  it('tell what passed from what was refused, and from what only would have been', () => {
    const counts = { forwarded: 7, replayed: 2, 'stale-token': 3, 'task-frozen': 1, 'would-stale-token': 5 }
    expect(totals(status(0, counts))).toEqual(rates(9, 4, 5, 3))
  })
})

describe('Rates', () => {
  it('need two readings', () => {
    expect(new Rates().take(status(10, { forwarded: 100 }))).toEqual([])
  })

  it('are the difference of two readings over the time between them', () => {
    const of = new Rates()
    of.take(status(10, { forwarded: 100, 'stale-token': 1 }))
    const atMs = STARTED + 12_000
    expect(of.take(status(12, { forwarded: 160, 'stale-token': 5 }))).toEqual([
      { atMs, rates: rates(30, 2, 0, 2) },
    ])
  })

  it('count from its start for a sidecar that was started again, behind a gap', () => {
    const of = new Rates()
    of.take(status(10, { forwarded: 100 }))
    const started = STARTED + 20_000
    expect(of.take(status(24, { forwarded: 8, 'stale-token': 4 }, started))).toEqual([
      { atMs: started, rates: undefined },
      { atMs: STARTED + 24_000, rates: rates(2, 1, 0, 1) },
    ])
  })

  it('are the mean of a long time without readings, from its begin to its end', () => {
    const of = new Rates()
    of.take(status(10, { forwarded: 100 }))
    expect(of.take(status(110, { forwarded: 300 }))).toEqual([
      { atMs: STARTED + 10_001, rates: rates(2) },
      { atMs: STARTED + 110_000, rates: rates(2) },
    ])
  })

  it('have a gap where the clock was set back, or a counter fell', () => {
    const of = new Rates()
    of.take(status(10, { forwarded: 100 }))
    expect(of.take(status(8, { forwarded: 110 }))).toEqual([{ atMs: STARTED + 8000, rates: undefined }])
    expect(of.take(status(9, { forwarded: 90 }))).toEqual([{ atMs: STARTED + 9000, rates: undefined }])
    expect(of.take(status(10, { forwarded: 91 }))).toEqual([{ atMs: STARTED + 10_000, rates: rates(1) }])
  })

  it('are never negative or infinite, whatever the readings', () => {
    const reading = fc.record({ at: fc.integer({ min: 0, max: 50 }), count: fc.nat(50), start: fc.nat(2) })
    fc.assert(
      fc.property(fc.array(reading), (readings) => {
        const of = new Rates()
        const points = readings.flatMap(({ at, count, start }) =>
          of.take(status(at, { forwarded: count }, STARTED + start * 1000)),
        )
        for (const point of points) {
          if (point.rates === undefined) continue
          expect(point.rates.passed).toBeGreaterThanOrEqual(0)
          expect(point.rates.passed).toBeLessThan(Infinity)
        }
      }),
    )
  })
})

describe('Ring', () => {
  it('keeps the newest points, in order, and never more than it has room for', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000)), fc.integer({ min: 1, max: 20 }), (times, capacity) => {
        const ring = new Ring(capacity, 1)
        const taken: number[] = []
        for (const time of times) {
          ring.push(time, [time])
          if (time > (taken.at(-1) ?? -1)) taken.push(time)
        }
        const kept = taken.slice(-capacity)
        expect(ring.series()).toEqual([kept.map((time) => time / 1000), kept])
      }),
    )
  })

  it('forgets what is older than asked for', () => {
    const ring = new Ring(10, 1)
    for (const time of [1, 2, 3, 4]) ring.push(time, [time])
    ring.dropBefore(3)
    expect(ring.series()[1]).toEqual([3, 4])
  })

  it('sums what its rates come to, over the part of the time that was asked for', () => {
    const ring = new Ring(10, 1)
    ring.push(0, [100])
    ring.push(10_000, [2])
    ring.push(20_000, [null])
    ring.push(30_000, [3])
    expect(ring.total(0, -1)).toBe(50)
    expect(ring.total(0, 5000)).toBe(40)
    expect(ring.total(0, 25_000)).toBe(15)
    expect([ring.highest(0), ring.newest(0)]).toEqual([100, 3])
  })
})
