/** The history checker itself: a history that keeps every promise passes, and each doctored one is found out. */
import { describe, expect, it } from 'vitest'
import {
  type Act,
  type Asked,
  check,
  type History,
  type Recorded,
  type Seen,
  type Told,
} from '../support/history.ts'
import { askedFrom, seenFrom } from '../support/history-log.ts'

const at = (ms: number, batch = ms) => ({ at: ms, batch })
const ANSWERED: Told = { kind: 'answer', status: 200, answer: 'yes' }
const refused = (code: string, sent: 'no' | 'unknown' = 'no', highest?: bigint): Told => ({
  kind: 'refusal',
  code,
  sent,
  highest,
})

const asked = (id: string, token: bigint, from: number, more: Partial<Asked> = {}): Asked => ({
  id,
  task: 'k',
  token,
  holder: undefined,
  route: 'plain',
  sha256: 'same',
  from,
  until: from + 9,
  told: ANSWERED,
  ...more,
})

const seen = (id: string, token: bigint, first: number, more: Partial<Seen> = {}): Seen => ({
  id,
  task: 'k',
  token,
  holder: undefined,
  first: at(first),
  sha256: 'same',
  applied: true,
  answer: { id: 'yes', status: 200 },
  answered: at(first + 5),
  closed: undefined,
  ...more,
})

/** Sent and never answered. */
const lost = { answer: undefined, answered: undefined, closed: at(30) }

const record = (operation: string, token: bigint, holds = false): Recorded => ({
  id: `record-${operation}`,
  operation,
  task: 'k',
  token,
  holds,
})

const history = (more: Partial<History>): History => ({
  asked: [],
  seen: [],
  listings: [],
  acts: [],
  stops: [],
  storeFaults: [],
  routes: { plain: { intent: false }, sure: { intent: true } },
  graceMs: 0,
  unknownStatuses: [502],
  ...more,
})

const listing = (from: number, ...records: Recorded[]) => ({ from, until: from + 1, records })
const rulesBroken = (more: Partial<History>) => [...new Set(check(history(more)).map(({ rule }) => rule))]

/** One write after another, with tokens 1 and 2. */
const inOrder = {
  asked: [asked('a', 1n, 10), asked('b', 2n, 20)],
  seen: [seen('a', 1n, 12), seen('b', 2n, 22)],
}

it('passes what keeps every promise', () => {
  const freeze: Act = { kind: 'freeze', task: 'k', from: 50, until: 52, open: [] }
  const thaw: Act = { kind: 'thaw', task: 'k', token: 3n, from: 70, until: 72 }
  const resolve: Act = { kind: 'resolve', record: 'record-u', from: 90, until: 92 }
  const u = record('u', 3n, true)
  expect(
    check(
      history({
        asked: [
          ...inOrder.asked,
          asked('c', 1n, 40, { told: refused('stale-token', 'no', 2n) }),
          asked('d', 2n, 55, { told: refused('task-frozen') }),
          asked('u', 3n, 75, { route: 'sure', told: refused('outcome-unknown', 'unknown') }),
          asked('v', 4n, 95),
        ],
        seen: [...inOrder.seen, seen('u', 3n, 76, { ...lost, closed: at(80) }), seen('v', 4n, 96)],
        acts: [freeze, thaw, resolve],
        listings: [listing(85, u), listing(100)],
      }),
    ),
  ).toEqual([])
})

describe('what the resource saw', () => {
  it('once', () => {
    expect(rulesBroken({ ...inOrder, seen: [...inOrder.seen, seen('b', 2n, 23)] })).toEqual(['sent once'])
  })

  it('in order', () => {
    expect(rulesBroken({ ...inOrder, seen: [seen('a', 1n, 23), seen('b', 2n, 12)] })).toContain('order')
  })

  it('in any order within one batch, but not overlapping', () => {
    const batch = { first: at(12, 3), answered: at(12, 3) }
    const both = [seen('b', 2n, 12, batch), seen('a', 1n, 12, batch)]
    expect(rulesBroken({ ...inOrder, seen: both })).toEqual([])
    const open = [seen('b', 2n, 12, batch), seen('a', 1n, 12, { ...batch, answered: at(40, 5) })]
    expect(rulesBroken({ ...inOrder, seen: open })).toEqual(['overlap'])
  })

  it('without overlap, unless the lower one is on record or lost its connection', () => {
    const overlapping = [seen('a', 1n, 12, { answered: at(25) }), seen('b', 2n, 22)]
    expect(rulesBroken({ ...inOrder, seen: overlapping })).toEqual(['overlap'])
    expect(rulesBroken({ ...inOrder, seen: overlapping, listings: [listing(50, record('a', 1n))] })).toEqual(
      [],
    )
    const told = [asked('a', 1n, 10, { told: { kind: 'nothing' } }), asked('b', 2n, 20)]
    const cut = [seen('a', 1n, 12, { ...lost, closed: at(21) }), seen('b', 2n, 22)]
    expect(rulesBroken({ asked: told, seen: cut, listings: [listing(50, record('a', 1n))] })).toEqual([])
  })

  it('as the client sent it', () => {
    const with_ = (more: Partial<Seen>) => ({
      ...inOrder,
      seen: [seen('a', 1n, 12, more), seen('b', 2n, 22)],
    })
    expect(rulesBroken(with_({ sha256: 'another' }))).toEqual(['faithful'])
    expect(rulesBroken(with_({ holder: 'somebody' }))).toEqual(['faithful'])
    expect(rulesBroken(with_({ sha256: undefined }))).toEqual(['faithful'])
    expect(rulesBroken({ ...inOrder, asked: [asked('a', 1n, 10)] })).toEqual(['faithful'])
  })

  it('from one holder of a token', () => {
    const by = (holder: string, id: string, from: number) => [
      asked(id, 1n, from, { holder }),
      seen(id, 1n, from + 1, { holder }),
    ]
    const [a, sa] = by('A', 'a', 10) as [Asked, Seen]
    const [b, sb] = by('B', 'b', 30) as [Asked, Seen]
    expect(rulesBroken({ asked: [a, b], seen: [sa, sb] })).toEqual(['one holder'])
  })

  it('after the grace, if a write was open at a kill', () => {
    const stop = { from: 15, until: 16, how: 'killed' as const, restarted: 18, graceFrom: 18 }
    const open = {
      asked: [asked('a', 1n, 10, { told: { kind: 'nothing' } }), asked('b', 2n, 20)],
      seen: [seen('a', 1n, 12, { ...lost, closed: at(16) }), seen('b', 2n, 22)],
      stops: [stop],
    }
    expect(rulesBroken({ ...open, graceMs: 100 })).toEqual(['grace'])
    expect(rulesBroken({ ...open, graceMs: 3 })).toEqual([])
    // A second kill within the grace begins it anew.
    const again = { from: 19, until: 19, how: 'killed' as const, restarted: 20, graceFrom: 20 }
    expect(rulesBroken({ ...open, stops: [stop, again], graceMs: 3 })).toEqual(['grace'])
    expect(rulesBroken({ ...open, stops: [stop, again], graceMs: 1 })).toEqual([])
  })

  it('nothing while an outcome is held', () => {
    const told = refused('outcome-unknown', 'unknown')
    const held = {
      asked: [asked('a', 1n, 10, { route: 'sure', told }), asked('b', 2n, 40)],
      seen: [seen('a', 1n, 12, lost), seen('b', 2n, 41)],
      listings: [listing(35, record('a', 1n, true))],
    }
    const resolve = (from: number): Act => ({ kind: 'resolve', record: 'record-a', from, until: from + 1 })
    expect(rulesBroken(held)).toEqual(['held'])
    expect(rulesBroken({ ...held, acts: [resolve(45)] })).toEqual(['held'])
    expect(rulesBroken({ ...held, acts: [resolve(37)] })).toEqual([])
  })

  it('nothing while a task is frozen, but what was open', () => {
    const freeze = (...open: string[]): Act => ({ kind: 'freeze', task: 'k', from: 13, until: 15, open })
    expect(rulesBroken({ ...inOrder, acts: [freeze()] })).toEqual(['frozen'])
    const late = { asked: [asked('a', 1n, 10)], seen: [seen('a', 1n, 16)] }
    expect(rulesBroken({ ...late, acts: [freeze()] })).toEqual(['frozen'])
    expect(rulesBroken({ ...late, acts: [freeze('a')] })).toEqual([])
  })
})

describe('what clients were told', () => {
  const told = (told: Told, more: Partial<History> = {}) =>
    rulesBroken({ asked: [asked('a', 1n, 10, { told })], ...more })

  it('not sent, and it was', () => {
    expect(told(refused('store-unavailable'))).toEqual([])
    expect(told(refused('store-unavailable'), { seen: [seen('a', 1n, 12)] })).toEqual(['honest'])
  })

  it("the resource's answer, and it gave none, or another", () => {
    expect(told(ANSWERED, { seen: [seen('a', 1n, 12)] })).toEqual([])
    expect(told(ANSWERED)).toEqual(['honest'])
    const another = { id: 'yes', status: 201 }
    expect(told(ANSWERED, { seen: [seen('a', 1n, 12, { answer: another })] })).toEqual(['honest'])
  })

  it('of a mark that was higher already, or that nobody claimed', () => {
    const later = (told: Told) => ({ ...inOrder, asked: [...inOrder.asked, asked('c', 1n, 40, { told })] })
    expect(rulesBroken(later(refused('stale-token', 'no', 2n)))).toEqual([])
    expect(rulesBroken(later(refused('stale-token', 'no', 1n)))).toEqual(['marks'])
    expect(rulesBroken(later(refused('stale-token', 'no', 7n)))).toEqual(['marks'])
    expect(rulesBroken(later(refused('handover-pending')))).toEqual(['marks'])
  })

  it('that a raise or an announcement is done, and a lower token passes', () => {
    const raise: Act = { kind: 'raise', task: 'k', token: 9n, from: 1, until: 2 }
    const passes = { asked: [asked('a', 1n, 10)], seen: [seen('a', 1n, 12)] }
    expect(rulesBroken({ ...passes, acts: [raise] })).toEqual(['marks'])
    const announcement = asked('n', 9n, 1, { until: 2, told: { kind: 'announced' } })
    expect(rulesBroken({ ...passes, asked: [announcement, ...passes.asked] })).toEqual(['marks'])
  })

  it('that it was sent unknown, and nothing is on record', () => {
    const unknown = refused('superseded', 'unknown')
    const kill = { from: 20, until: 21, how: 'killed' as const, restarted: 25, graceFrom: 25 }
    expect(told(unknown)).toEqual(['on record'])
    expect(told(unknown, { listings: [listing(50, record('a', 1n))] })).toEqual([])
    expect(told(unknown, { stops: [kill] })).toEqual([])
    expect(told(unknown, { stops: [{ ...kill, how: 'cut' }] })).toEqual(['on record'])
    expect(told(unknown, { stops: [{ ...kill, from: 9000, until: 9001 }] })).toEqual(['on record'])
  })
})

describe('what is on record', () => {
  it('every write with an intent that was not answered, killed or not', () => {
    const stops = [{ from: 13, until: 14, how: 'killed' as const, restarted: 20, graceFrom: 20 }]
    const open = (route: string) => ({
      asked: [asked('a', 1n, 10, { route, told: { kind: 'nothing' } as const })],
      seen: [seen('a', 1n, 12, lost)],
      stops,
    })
    expect(rulesBroken(open('sure'))).toEqual(['on record'])
    expect(rulesBroken(open('plain'))).toEqual([])
    expect(rulesBroken({ ...open('plain'), stops: [] })).toEqual(['on record'])
  })

  it('an answer that does not tell', () => {
    const answer = { id: 'yes', status: 502 }
    const told: Told = { kind: 'answer', status: 502, answer: 'yes' }
    const badGateway = { asked: [asked('a', 1n, 10, { told })], seen: [seen('a', 1n, 12, { answer })] }
    expect(rulesBroken(badGateway)).toEqual(['on record'])
    expect(rulesBroken({ ...badGateway, listings: [listing(50, record('a', 1n))] })).toEqual([])
  })

  it('stays until it is resolved, and is resolved from then on', () => {
    const r = record('a', 1n)
    const resolve: Act = { kind: 'resolve', record: r.id, from: 60, until: 62 }
    expect(rulesBroken({ listings: [listing(50, r), listing(70)] })).toEqual(['records stay'])
    expect(rulesBroken({ listings: [listing(50, r), listing(70)], acts: [resolve] })).toEqual([])
    expect(rulesBroken({ listings: [listing(50, r), listing(70, r)], acts: [resolve] })).toEqual([
      'records stay',
    ])
  })

  it('that a task is frozen, which nobody is told', () => {
    const freeze: Act = { kind: 'freeze', task: 'k', from: 1, until: 2, open: [] }
    expect(
      rulesBroken({ acts: [freeze], asked: [asked('a', 1n, 10, { told: refused('handover-held') })] }),
    ).toEqual(['frozen'])
  })
})

it('reads a history from the lines of the logs', () => {
  const ask = { e: 'ask', id: 'a', task: 'k', token: '9', route: 'plain', sha256: 'same', at: 1 } as const
  const told = { kind: 'refusal', code: 'stale-token', sent: 'no', highest: '10' } as const
  expect(askedFrom([ask, { e: 'told', id: 'a', at: 2, told }, { ...ask, id: 'b' }])).toEqual([
    asked('a', 9n, 1, { until: 2, told: { ...told, highest: 10n } }),
    asked('b', 9n, 1, { until: undefined, told: { kind: 'nothing' } }),
  ])
  expect(
    seenFrom([
      { e: 'first', n: 4, id: 'a', task: 'k', token: '9', moment: at(1) },
      { e: 'whole', n: 4, sha256: 'same' },
      { e: 'applied', n: 4 },
      { e: 'answer', n: 4, id: 'yes', status: 200 },
      { e: 'answered', n: 4, moment: at(6) },
    ]),
  ).toEqual([seen('a', 9n, 1)])
})
