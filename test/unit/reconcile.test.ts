/** What is said of an operation by its attempts, whatever order and shape they come in. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AttemptEnd, ListedAttempt } from '../../src/journal/operations.ts'
import {
  type Attempt,
  isDoubtful,
  type ReconciledOperation,
  Reconciliation,
} from '../../src/journal/reconcile.ts'
import type { Resolution } from '../../src/journal/records.ts'
import { MemoryOperations } from '../support/store-memory-operations.ts'

const ATTEMPT: Attempt = {
  id: 'a',
  token: 1n,
  holder: undefined,
  route: 'pay',
  method: 'POST',
  target: '/x',
  atMs: 0,
  outcome: 'open',
  status: undefined,
  final: false,
  reason: undefined,
  resolution: undefined,
}
const final = (status: number): Partial<Attempt> => ({ outcome: 'answered', status, final: true })
const OPEN: Partial<Attempt> = { outcome: 'open' }
const UNKNOWN: Partial<Attempt> = { outcome: 'unknown', reason: 'timeout' }
const found = (resolution: Resolution): Partial<Attempt> => ({ ...UNKNOWN, resolution })
const BUSY: Partial<Attempt> = { outcome: 'answered', status: 503 }
const NOT_SENT: Partial<Attempt> = { outcome: 'not-sent' }

function operation(...attempts: Partial<Attempt>[]): ReconciledOperation {
  const reconciliation = new Reconciliation()
  reconciliation.addOperation({ scope: 's', key: 'k', providerKey: 'p', state: 'open' })
  attempts.forEach((attempt, i) => {
    reconciliation.addAttempt('s', 'k', { ...ATTEMPT, id: String(i), ...attempt })
  })
  return reconciliation.operations().next().value as ReconciledOperation
}

test.each<[string, Partial<Attempt>[], string | undefined]>([
  ['applied', [final(201)], '0'],
  ['applied', [BUSY, NOT_SENT, final(200)], '2'],
  ['applied', [found('not-applied'), final(200)], '1'],
  ['applied', [found('compensated'), final(200)], '1'],
  ['applied', [found('applied')], '0'],
  ['compensated', [found('compensated')], undefined],
  ['compensated', [BUSY, found('compensated'), found('not-applied')], undefined],
  ['unknown', [UNKNOWN], undefined],
  ['unknown', [UNKNOWN, BUSY], undefined],
  ['unknown', [found('compensated'), UNKNOWN], undefined],
  ['conflicting', [UNKNOWN, final(200)], '1'],
  ['conflicting', [found('applied'), UNKNOWN], '0'],
  ['conflicting', [found('applied'), found('applied')], '0'],
  ['conflicting', [found('applied'), final(200)], '1'],
  ['open', [OPEN], undefined],
  ['open', [UNKNOWN, OPEN], undefined],
  ['open', [found('applied'), OPEN], '0'],
  ['failed', [BUSY], undefined],
  ['failed', [final(402)], undefined],
  ['failed', [NOT_SENT, found('not-applied')], undefined],
])('%s: %j', (verdict, attempts, canonical) => {
  const reconciled = operation(...attempts)
  expect([reconciled.verdict, reconciled.canonical?.id]).toEqual([verdict, canonical])
})

test.each<[boolean, Partial<Attempt>[]]>([
  [false, [{ token: 8n }]],
  [false, [{ token: 8n }, { token: 8n }]],
  [true, [{ token: 8n }, { token: 9n }]],
  [true, [{ token: undefined }, { token: 9n }]],
  [false, [{ holder: 'a' }, {}]],
  [false, [{}, { holder: 'a' }]],
  [true, [{ holder: 'a' }, {}, { holder: 'b' }]],
  [true, [{}, { holder: 'a' }, { holder: 'b' }]],
])('attempted by two holders: %s, case %#', (two, attempts) => {
  expect(operation(...attempts).byTwoHolders).toBe(two)
})

describe('a record that retention is taking apart', () => {
  const left = (state: 'done' | 'failed', ...attempts: Partial<Attempt>[]) => {
    const reconciliation = new Reconciliation()
    reconciliation.addOperation({ scope: 's', key: 'k', providerKey: 'k', state })
    for (const attempt of attempts) reconciliation.addAttempt('s', 'k', { ...ATTEMPT, ...attempt })
    const { length } = [...reconciliation.operations()]
    expect(reconciliation.beingForgotten).toBe(1 - length)
    return length
  }

  test('says nothing of an operation that lacks what made it done, or all attempts', () => {
    expect([left('done'), left('failed'), left('done', BUSY), left('done', found('not-applied'))]).toEqual([
      0, 0, 0, 0,
    ])
  })

  test('is not mistaken for one in which an attempt ended since', () => {
    expect([
      left('done', OPEN),
      left('done', UNKNOWN),
      left('done', final(402)),
      left('failed', BUSY),
    ]).toEqual([1, 1, 1, 1])
  })

  test('attempts of operations that began since are left out', () => {
    const reconciliation = new Reconciliation()
    reconciliation.addAttempt('s', 'k', ATTEMPT)
    reconciliation.addOperation({ scope: 's', key: 'other', providerKey: 'k', state: 'open' })
    reconciliation.addAttempt('s', 'k', ATTEMPT)
    reconciliation.addAttempt('t', 'other', ATTEMPT)
    expect([...reconciliation.operations()]).toEqual([])
  })
})

/** What happens to an operation: attempts one after the other, each with its end, and what somebody finds out. */
const end = fc.constantFrom<AttemptEnd['outcome'] | 'open' | 'refused' | 'final'>(
  'answered',
  'not-sent',
  'unknown',
  'open',
  'refused',
  'final',
)
const history = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    scope: fc.constantFrom('s', 't'),
    token: fc.option(fc.bigInt(1n, 3n), { nil: undefined }),
    end,
    resolution: fc.option(fc.constantFrom<Resolution>('applied', 'not-applied', 'compensated'), {
      nil: undefined,
    }),
  }),
  { maxLength: 20 },
)

function stored(steps: typeof history extends fc.Arbitrary<infer T> ? T : never): MemoryOperations {
  const store = new MemoryOperations()
  steps.forEach(({ key, scope, token, end, resolution }, i) => {
    const id = `attempt-${i}`
    const name = { scope, key, task: 'T', id: `${scope}/${key}` }
    store.attempt({
      ...ATTEMPT,
      ...{ id, token, atMs: i, keepMs: 0 },
      operation: { ...name, fingerprint: '', providerKey: `p-${scope}-${key}`, firstAtMs: 0 },
    })
    if (end === 'open') return
    const outcome = end === 'refused' || end === 'final' ? 'answered' : end
    const status = { answered: 503, refused: 402, final: 201 }[end as string]
    store.ended(id, {
      ...{ outcome, status, reason: outcome === 'unknown' ? 'timeout' : undefined, answer: undefined },
      ...{ final: end === 'refused' || end === 'final', endedAtMs: i },
    })
    if (resolution) store.resolved(id, resolution)
  })
  return store
}

function reconciled(store: MemoryOperations): ReconciledOperation[] {
  const reconciliation = new Reconciliation()
  const all = { task: 'T', limit: 1000, after: 0 }
  for (const listed of store.operations(all).rows) reconciliation.addOperation(listed)
  for (const row of store.attempts(all).rows) {
    reconciliation.addAttempt(row.operation.scope, row.operation.key, row)
  }
  return [...reconciliation.operations()]
}

const applications = (attempts: readonly Attempt[]) =>
  attempts.filter((row) => row.resolution === 'applied' || (row.final && row.status === 201))

test('the verdict agrees with the state on record, and never hides that something may have happened twice', () => {
  fc.assert(
    fc.property(history, (steps) => {
      for (const operation of reconciled(stored(steps))) {
        const { state, verdict, attempts, canonical } = operation
        const applied = applications(attempts)
        const possible =
          applied.length + attempts.filter((row) => isDoubtful(row) || row.outcome === 'open').length
        if (verdict === 'applied') expect([possible, applied]).toEqual([1, [canonical]])
        expect(canonical === undefined).toBe(applied.length === 0)
        if (possible > 1 && applied.length > 0) expect(['conflicting', 'open']).toContain(verdict)
        if (verdict === 'failed' || verdict === 'compensated') expect(possible).toBe(0)
        if (state !== 'done') expect(verdict).toBe(state)
        if (applied.length > 0) expect(state).toBe('done')
      }
    }),
  )
})

test('each attempt on record belongs to one operation, and their order makes no difference to the verdict', () => {
  fc.assert(
    fc.property(history, fc.infiniteStream(fc.nat()), (steps, order) => {
      const store = stored(steps)
      const operations = reconciled(store)
      expect(operations.flatMap(({ attempts }) => attempts).length).toBe(steps.length)
      for (const { verdict, byTwoHolders, attempts } of operations) {
        const shuffled = attempts
          .map((row) => ({ row: row as ListedAttempt, place: order.next().value }))
          .sort((a, b) => a.place - b.place)
        const again = operation(...shuffled.map(({ row }) => row))
        expect([again.verdict, again.byTwoHolders]).toEqual([verdict, byTwoHolders])
      }
    }),
  )
})

test('once everything unknown is resolved, and nothing is open, no operation is unknown', () => {
  fc.assert(
    fc.property(history, fc.constantFrom<Resolution>('not-applied', 'compensated'), (steps, resolution) => {
      const store = stored(steps.filter((step) => step.end !== 'open'))
      for (const row of store.attempts({ limit: 1000, after: 0 }).rows) store.resolved(row.id, resolution)
      for (const { verdict, attempts } of reconciled(store)) {
        const applied = applications(attempts).length
        const none = attempts.some((row) => row.resolution === 'compensated') ? 'compensated' : 'failed'
        expect(verdict).toBe(applied > 1 ? 'conflicting' : applied === 1 ? 'applied' : none)
      }
    }),
  )
})
