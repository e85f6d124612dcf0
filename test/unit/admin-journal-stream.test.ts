/** The journal stream: whole, in order and resumable; a reader that is slow or gone costs nobody anything. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { JournalStreams } from '../../src/admin/journal-stream.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { MemoryMarkStore } from '../support/memory-mark-store.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'
import { settled, VirtualClock } from '../support/virtual-clock.ts'

/** As much of a response as a stream uses; takes what `room` says, then asks to wait. */
class Reader extends EventEmitter {
  text = ''
  room = Infinity
  destroyed = false
  writableEnded = false
  writableNeedDrain = false

  write(text: string): boolean {
    if (this.writableNeedDrain) throw new Error('written to without waiting')
    this.text += text
    this.room -= text.length
    this.writableNeedDrain = this.room <= 0
    return !this.writableNeedDrain
  }

  /** Reads on. */
  drain(room = Infinity): void {
    this.room = room
    this.writableNeedDrain = false
    this.emit('drain')
  }

  end(): void {
    this.writableEnded = true
    this.emit('close')
  }

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.emit('close')
  }

  get events(): { event: string; id: number; data: { seq: number } }[] {
    return this.text.split('\n\n').flatMap((block) => {
      const [, event, id, data] = /^event: (.*)\nid: (\d+)\ndata: (.*)$/.exec(block) ?? []
      return data === undefined ? [] : [{ event: event as string, id: Number(id), data: JSON.parse(data) }]
    })
  }

  get ids(): number[] {
    return this.events.map(({ id }) => id)
  }
}

let clock: VirtualClock
let store: MemoryMarkStore
let streams: JournalStreams
let isRevoked: () => boolean
beforeEach(() => {
  isRevoked = () => false
  clock = new VirtualClock()
  store = new MemoryMarkStore(new MemoryDisk(0n), { automatic: true })
  streams = new JournalStreams(clock)
})

const entry = (kind: JournalEntry['kind'], task: string | undefined): JournalEntry => ({
  ...{ kind, task, token: 9007199254740993n, atMs: 5 },
  data: { code: 'stale-token' },
})
/** Tells how many there are. */
async function note(count: number, kind: JournalEntry['kind'] = 'rejection', task?: string): Promise<number> {
  await store.commit([{ kind: 'journal', entries: Array.from({ length: count }, () => entry(kind, task)) }])
  return store.counts().lastEntry
}
function open(
  query: { after?: number; task?: string; kind?: JournalEntry['kind'] } = {},
  room = Infinity,
): Reader {
  const reader = new Reader()
  reader.room = room
  streams.open(store, { after: undefined, ...query }, reader as unknown as ServerResponse, () => isRevoked())
  return reader
}
/** Lets the reading of all pages end that nobody holds up. */
async function read(): Promise<void> {
  for (let i = 0; i < 100; i++) await settled()
}
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe('a stream', () => {
  test('begins with what comes now, and shows entries as the journal lists them', async () => {
    await note(3)
    const reader = open()
    await note(1, 'act', 'T')
    expect(reader.text).toBe('')
    await clock.advance(500)
    await read()
    expect(reader.text).toMatch(/^event: act\nid: 4\ndata: \{.*\}\n\n$/)
    expect(reader.events[0]?.data).toEqual({
      ...{ seq: 4, atMs: 5, kind: 'act', task: 'T', token: '9007199254740993' },
      data: { code: 'stale-token' },
    })
  })

  test('goes on behind an entry without a gap or a repeat, over many pages', async () => {
    await note(345)
    const first = open({ after: 0 }, 20_000)
    await read()
    const seen = first.ids.length
    expect(seen).toBeGreaterThan(20)
    expect(seen).toBeLessThan(345)
    first.destroy()
    const second = open({ after: first.ids.at(-1) as number })
    await read()
    await note(5)
    await clock.advance(500)
    await read()
    expect([...first.ids, ...second.ids]).toEqual(range(1, 350))
  })

  test('has what its reader asked for alone, and looks at nothing twice', async () => {
    let looks = 0
    const { journal } = store
    store.journal = (query) => {
      looks++
      return journal.call(store, query)
    }
    const [acts, ofTask] = [open({ after: 0, kind: 'act' }), open({ after: 0, task: 'T' })]
    for (let i = 0; i < 30; i++) {
      await note(9, i % 2 === 0 ? 'act' : 'handover', i % 3 === 0 ? 'T' : 'U')
      await clock.advance(500)
      await read()
    }
    const listed = (await store.journal({ limit: 1000, after: 0 })).rows
    expect(acts.ids).toEqual(listed.filter(({ kind }) => kind === 'act').map(({ seq }) => seq))
    expect(ofTask.ids).toEqual(listed.filter(({ task }) => task === 'T').map(({ seq }) => seq))
    expect(looks).toBeLessThan(80)
  })

  test('asks the store nothing while nothing happens', async () => {
    await note(1)
    open()
    store.journal = () => Promise.reject(new Error('asked'))
    await clock.advance(60_000)
    expect(streams.size).toBe(1)
  })

  test('says every 15 s that it is there', async () => {
    const reader = open()
    await clock.advance(45_000)
    expect(reader.text).toBe(': still here\n\n'.repeat(3))
  })

  test('behind an entry that the store has not, which was restored, goes on with what comes', async () => {
    await note(3)
    const reader = open({ after: 1000 })
    await note(1)
    await clock.advance(500)
    await read()
    expect(reader.ids).toEqual([4])
  })
})

describe('a reader', () => {
  test('that is slow holds one page at most, and holds up nobody', async () => {
    await note(500)
    let pages = 0
    const { journal } = store
    store.journal = (query) => {
      pages++
      return journal.call(store, query)
    }
    const slow = open({ after: 0 }, 1)
    await read()
    expect([slow.ids, pages]).toEqual([[1], 1])
    const other = open({ after: 0 })
    await clock.advance(5000)
    await read()
    expect(other.ids).toEqual(range(1, 500))
    const before = pages
    await clock.advance(5000)
    expect([slow.ids, pages]).toEqual([[1], before])
    slow.drain()
    await read()
    expect(slow.ids).toEqual(range(1, 500))
  })

  test('that takes nothing for 30 s is cut; one that takes a little is not', async () => {
    await note(300)
    const [dead, slow] = [open({ after: 0 }, 1), open({ after: 0 }, 1)]
    await read()
    for (let i = 0; i < 4; i++) {
      await clock.advance(10_000)
      slow.drain(1)
      await read()
    }
    expect([dead.destroyed, slow.destroyed, streams.size]).toEqual([true, false, 1])
    expect(slow.ids).toEqual(range(1, 5))
  })

  test('whose right to it is gone is sent nothing more', async () => {
    const [reader, waiting] = [open(), open({}, 1)]
    await note(2)
    await clock.advance(500)
    await read()
    isRevoked = () => true
    await note(1)
    await clock.advance(500)
    await read()
    expect([reader.writableEnded, reader.ids, streams.size]).toEqual([true, [1, 2], 0])
    expect(waiting.destroyed).toBe(true)
  })

  test('that leaves is forgotten, even while it is waited for', async () => {
    await note(300)
    const [gone, waiting] = [open(), open({ after: 0 }, 1)]
    await read()
    for (const reader of [gone, waiting]) reader.destroy()
    await read()
    expect(streams.size).toBe(0)
    await clock.advance(500)
    expect(clock.pending).toBe(0)
  })

  test('has to go elsewhere if there are 32 already, until one leaves', () => {
    const readers = range(1, 32).map(() => open())
    expect(() => streams.requireRoom()).toThrow('32 readers')
    readers[7]?.destroy()
    streams.requireRoom()
  })

  test('is cut if the store fails, to come again', async () => {
    const reader = open()
    await note(1)
    store.journal = () => Promise.reject(new Error('disk'))
    await clock.advance(500)
    await read()
    expect([reader.destroyed, streams.size]).toEqual([true, 0])
  })

  test('sees the end when the sidecar stops, and comes no more', async () => {
    await note(300)
    const [reader, stalled] = [open(), open({ after: 0 }, 1)]
    await read()
    streams.close()
    await read()
    expect([reader.writableEnded, stalled.destroyed || stalled.writableEnded]).toEqual([true, true])
    expect(() => streams.requireRoom()).toThrow('stopping')
    expect(clock.pending).toBe(0)
  })
})
