/** When a client is too slow: silence always, slowness only while others wait, and never by somebody else's fault. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { OF_ANSWER, OF_BODY, Pace, type PaceFault, type Watch } from '../../src/proxy/pace.ts'

const WINDOW_MS = 5000
const LEAST = 1024
const NEEDED = (LEAST * WINDOW_MS) / 1000

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

class Rig {
  contended = false
  readonly faults: PaceFault[] = []
  readonly pace: Pace

  constructor(watch: Watch = OF_BODY, silenceMs = 75_000) {
    const limits = { silenceMs, bytesPerSecond: LEAST }
    this.pace = new Pace(
      watch,
      limits,
      () => this.contended,
      (fault) => this.faults.push(fault),
    )
  }

  /** So many windows pass, in each of which that much moves. */
  windows(count: number, bytes = 0): void {
    for (let i = 0; i < count; i++) {
      if (bytes > 0) this.pace.moved(bytes)
      vi.advanceTimersByTime(WINDOW_MS)
    }
  }
}

test('a silent client is given up after the whole silence, once', () => {
  const rig = new Rig()
  rig.windows(14)
  expect(rig.faults).toEqual([])
  rig.windows(1)
  expect(rig.faults).toEqual(['silent'])
  rig.windows(100)
  expect(rig.faults).toEqual(['silent'])
})

test('one byte ends a silence', () => {
  const rig = new Rig()
  for (let i = 0; i < 10; i++) {
    rig.windows(14)
    rig.windows(1, 1)
  }
  expect(rig.faults).toEqual([])
  rig.windows(15)
  expect(rig.faults).toEqual(['silent'])
})

test('a silence shorter than a window is a window of its own', () => {
  const rig = new Rig(OF_BODY, 800)
  vi.advanceTimersByTime(799)
  expect(rig.faults).toEqual([])
  vi.advanceTimersByTime(1)
  expect(rig.faults).toEqual(['silent'])
})

test('a slow client is left alone as long as nobody waits', () => {
  const rig = new Rig()
  rig.windows(1000, 1)
  expect(rig.faults).toEqual([])
})

test('while others wait, a body has two slow windows in a row', () => {
  const rig = new Rig()
  rig.contended = true
  rig.windows(100, NEEDED)
  for (let i = 0; i < 10; i++) {
    rig.windows(1, NEEDED - 1)
    rig.windows(1, NEEDED)
  }
  expect(rig.faults).toEqual([])
  rig.windows(1, NEEDED - 1)
  rig.windows(1, NEEDED - 1)
  expect(rig.faults).toEqual(['slow'])
})

test('what a body was ahead does not count for later', () => {
  const rig = new Rig()
  rig.contended = true
  rig.windows(1, NEEDED * 1000)
  rig.windows(2, 1)
  expect(rig.faults).toEqual(['slow'])
})

test('a wait of others that is over forgives the slow window', () => {
  const rig = new Rig()
  for (let i = 0; i < 10; i++) {
    rig.contended = true
    rig.windows(1, 1)
    rig.contended = false
    rig.windows(1, 1)
  }
  expect(rig.faults).toEqual([])
})

test('a held client is neither silent nor slow, and has a whole window when it goes on', () => {
  const rig = new Rig()
  rig.contended = true
  rig.pace.hold()
  rig.windows(100)
  rig.pace.resume()
  // The window in which it went on, and one slow one.
  rig.windows(2)
  expect(rig.faults).toEqual([])
  rig.windows(1)
  expect(rig.faults).toEqual(['slow'])
})

test('silence counts anew after a hold', () => {
  const rig = new Rig()
  rig.windows(14)
  rig.pace.hold()
  rig.pace.resume()
  rig.windows(15)
  expect(rig.faults).toEqual([])
  rig.windows(1)
  expect(rig.faults).toEqual(['silent'])
})

test('what a client moved while it was held shows whether it was slow', () => {
  const rig = new Rig()
  rig.pace.hold()
  rig.windows(1)
  expect(rig.pace.wasSlow(0)).toBe(false)
  rig.windows(1)
  expect(rig.pace.wasSlow(2 * NEEDED - 1)).toBe(true)
  expect(rig.pace.wasSlow(2 * NEEDED)).toBe(false)
  rig.windows(1)
  expect(rig.pace.wasSlow(2 * NEEDED)).toBe(true)
  rig.pace.resume()
  rig.windows(2)
  rig.pace.hold()
  expect(rig.pace.wasSlow(0)).toBe(false)
})

test('an answer moves in steps: what its client was ahead counts for later', () => {
  const rig = new Rig(OF_ANSWER)
  rig.contended = true
  for (let i = 0; i < 10; i++) {
    rig.windows(1, 14 * NEEDED)
    rig.windows(13)
  }
  expect(rig.faults).toEqual([])
  rig.windows(1, 14 * NEEDED)
  rig.windows(14)
  expect(rig.faults).toEqual([])
  rig.windows(1)
  expect(rig.faults).toEqual(['silent'])
})

test('an answer of which nothing is taken has four windows while others wait', () => {
  const rig = new Rig(OF_ANSWER)
  rig.contended = true
  rig.windows(3)
  expect(rig.faults).toEqual([])
  rig.windows(1)
  expect(rig.faults).toEqual(['slow'])
})

test('however far ahead, it counts for no longer than the buffers could hide', () => {
  const rig = new Rig(OF_ANSWER, 1e9)
  rig.contended = true
  rig.windows(1, 1e9)
  const windows = Math.ceil(OF_ANSWER.aheadBytes / NEEDED)
  rig.windows(windows)
  expect(rig.faults).toEqual([])
  rig.windows(OF_ANSWER.slowWindows)
  expect(rig.faults).toEqual(['slow'])
})

test('nothing is said after stop', () => {
  const rig = new Rig()
  rig.pace.stop()
  rig.windows(100)
  expect(rig.faults).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})
