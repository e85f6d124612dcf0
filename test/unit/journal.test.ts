/** The journal: gathers, never waits, and counts what it had to drop. */
import { expect, test } from 'vitest'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { Journal } from '../../src/journal/journal.ts'
import type { PruneLimits } from '../../src/journal/queries.ts'
import { settled, VirtualClock } from '../support/virtual-clock.ts'

const LIMITS = { maxAgeMs: 1000, maxRows: 10 }
const entry = (n: number) => ({ kind: 'rejection', task: `t${n}`, token: 1n, data: {} }) as const

function rig({ more = [] as boolean[] } = {}) {
  const clock = new VirtualClock()
  const written: (readonly JournalEntry[])[] = []
  const pruned: PruneLimits[] = []
  const state = { full: false, dropped: 0 }
  const journal = new Journal({
    append: async (entries) => {
      if (state.full) throw new Error('the disk is full')
      written.push(entries)
    },
    prune: async (limits) => {
      pruned.push(limits)
      return { entries: 0, operations: 0, attempts: 0, more: more.shift() ?? false }
    },
    limits: LIMITS,
    clock,
    dropped: () => state.dropped++,
  })
  const advance = async (ms: number) => {
    await clock.advance(ms)
    await settled()
  }
  return { clock, journal, written, pruned, state, advance }
}

test('entries that come together are written together', async () => {
  const { journal, written, advance } = rig()
  journal.note(entry(1))
  journal.note(entry(2))
  expect(written).toEqual([])
  await advance(500)
  expect(written.map((entries) => entries.map(({ task }) => task))).toEqual([['t1', 't2']])
  await advance(5000)
  expect(written).toHaveLength(1)
})

test('what comes beyond what may wait is dropped, counted, and said on record', async () => {
  const { journal, written, state, advance } = rig()
  for (let n = 0; n < 1500; n++) journal.note(entry(n))
  expect(state.dropped).toBe(500)
  await advance(500)
  expect(written[0]).toHaveLength(1001)
  expect(written[0]?.at(-1)).toMatchObject({ kind: 'dropped', data: { count: 500 } })
  journal.note(entry(1))
  await advance(500)
  expect(written[1]).toHaveLength(1)
})

test('what the disk does not take is dropped, and said once it takes something again', async () => {
  const { journal, written, state, advance } = rig()
  state.full = true
  journal.note(entry(1))
  journal.note(entry(2))
  await advance(500)
  journal.note(entry(3))
  await advance(500)
  expect([written, state.dropped]).toEqual([[], 3])
  state.full = false
  journal.note(entry(4))
  await advance(500)
  expect(written[0]).toMatchObject([{ task: 't4' }, { kind: 'dropped', data: { count: 3 } }])
})

test('a close writes what waits, and leaves no timer', async () => {
  const { clock, journal, written } = rig()
  journal.note(entry(1))
  await journal.close()
  expect(written).toHaveLength(1)
  expect(clock.pending).toBe(0)
})

test('what is to be forgotten goes in parts, then once a minute', async () => {
  const { pruned, advance } = rig({ more: [true, true, false] })
  await advance(100)
  await advance(100)
  await advance(100)
  expect(pruned).toHaveLength(3)
  expect(pruned[0]).toMatchObject(LIMITS)
  await advance(59_000)
  expect(pruned).toHaveLength(3)
  await advance(1000)
  expect(pruned).toHaveLength(4)
})
