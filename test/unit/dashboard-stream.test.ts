/** The dashboard reads server-sent events, and keeps the newest entries, each once. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dashboard } from '../support/dashboard.ts'

const { EventParser, MAX_CHARACTERS } = await dashboard('event-stream')
const { Recent } = await dashboard('recent')

const bytes = (text: string) => new TextEncoder().encode(text)

describe('EventParser', () => {
  it('reads events, and passes over comments, unknown fields and events without data', () => {
    const text =
      ': hello\n\nevent: rejection\nid: 7\ndata: {"a":1}\nretry: 5\n\nevent: act\n\ndata: x\ndata:y\n\n'
    expect(new EventParser().push(bytes(text))).toEqual([
      { event: 'rejection', id: '7', data: '{"a":1}' },
      { event: 'message', id: '7', data: 'x\ny' },
    ])
  })

  it('reads the same, however the bytes are cut, and with any ends of lines', () => {
    const value = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n]/.test(text))
    const event = fc.record({ id: fc.nat(), data: fc.array(value, { minLength: 1, maxLength: 3 }) })
    fc.assert(
      fc.property(
        fc.array(event),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(7)),
        (events, end, cuts) => {
          const text = events
            .map(({ id, data }) => [`id: ${id}`, ...data.map((line) => `data: ${line}`), '', ''].join(end))
            .join('')
          const whole = bytes(text)
          const parser = new EventParser()
          const read = []
          for (let from = 0, i = 0; from < whole.length; i++) {
            const length = (cuts[i % cuts.length] ?? 40) + 1
            read.push(...parser.push(whole.subarray(from, from + length)))
            from += length
          }
          expect(read).toEqual(
            events.map(({ id, data }) => ({ event: 'message', id: String(id), data: data.join('\n') })),
          )
        },
      ),
    )
  })

  it('refuses an event that is too long, in one line or in many', () => {
    const piece = bytes('x'.repeat(10_000))
    const endless = new EventParser()
    expect(() => {
      for (let sent = 0; sent <= MAX_CHARACTERS; sent += piece.length) endless.push(piece)
    }).toThrow(RangeError)
    const lines = new EventParser()
    const line = bytes(`data: ${'x'.repeat(10_000)}\n`)
    expect(() => {
      for (let sent = 0; sent <= MAX_CHARACTERS; sent += 10_000) lines.push(line)
    }).toThrow(RangeError)
  })
})

describe('Recent', () => {
  const entry = (seq: number) => ({ seq, atMs: seq, kind: 'rejection', data: {} })
  const numbers = (recent: { entries: { seq: number }[] }) => recent.entries.map(({ seq }) => seq)

  it('has the newest entries once each, newest first, however they come', () => {
    const batches = fc.array(fc.array(fc.integer({ min: 1, max: 60 })))
    fc.assert(
      fc.property(batches, fc.integer({ min: 1, max: 20 }), (given, capacity) => {
        const recent = new Recent(capacity)
        const seen = new Set<number>()
        for (const batch of given) {
          recent.add(batch.map(entry))
          for (const seq of batch) seen.add(seq)
        }
        expect(numbers(recent)).toEqual([...seen].toSorted((a, b) => b - a).slice(0, capacity))
      }),
    )
  })

  it('counts the stale writes since a time, each as often as it came', () => {
    const recent = new Recent(10)
    const stale = (seq: number, count: number, code = 'stale-token') => ({
      ...entry(seq),
      data: { code, count },
    })
    recent.add([stale(1, 100), stale(2, 7), stale(3, 5, 'token-conflict'), stale(4, 1)])
    expect(recent.staleSince(1)).toBe(8)
  })

  it('says whether anything was new, and how much came after one', () => {
    const recent = new Recent(3)
    expect(recent.add([entry(5), entry(7)])).toBe(true)
    expect(recent.add([entry(7), entry(5)])).toBe(false)
    expect([recent.newestSeq, recent.countAfter(5), recent.countAfter(0), recent.countAfter(7)]).toEqual([
      7, 1, 2, 0,
    ])
    recent.add([entry(6), entry(8)])
    expect(numbers(recent)).toEqual([8, 7, 6])
    expect(recent.add([entry(1)])).toBe(false)
  })
})
