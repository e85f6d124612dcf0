/** The canonical list beside a provider's: every entry of either side is matched once, or reported. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AmbiguousKeyError, Comparison, type ExportEntry } from '../../src/journal/comparison.ts'
import { type Attempt, type ReconciledOperation, Reconciliation } from '../../src/journal/reconcile.ts'

const APPLIED: Attempt = {
  id: 'attempt',
  token: 9n,
  holder: 'worker-b',
  route: 'pay',
  method: 'POST',
  target: '/x',
  atMs: 0,
  outcome: 'answered',
  status: 201,
  final: true,
  reason: undefined,
  resolution: undefined,
}
const REFUSED: Attempt = { ...APPLIED, status: 402 }
const LOST: Attempt = { ...APPLIED, outcome: 'unknown', status: undefined, final: false, reason: 'timeout' }
const FOUND: Attempt = { ...LOST, resolution: 'applied' }

interface Made {
  readonly key: string
  readonly scope?: string
  readonly providerKey?: string
  readonly attempt?: Attempt
}

function operations(...made: Made[]): ReconciledOperation[] {
  const reconciliation = new Reconciliation()
  for (const { key, scope = 's', providerKey = key, attempt = APPLIED } of made) {
    reconciliation.addOperation({ scope, key, providerKey, state: 'done' })
    reconciliation.addAttempt(scope, key, attempt)
  }
  return [...reconciliation.operations()]
}

const STATUS = { column: 'code', recorded: (_: unknown, { status }: Attempt) => status?.toString() }

function differences(comparison: Comparison, ...entries: (string | Partial<ExportEntry> | undefined)[]) {
  const read = entries.map((entry, i): ExportEntry => {
    const given = typeof entry === 'object' ? entry : { key: entry }
    return { line: i + 2, key: undefined, values: ['201'], ...given }
  })
  const found = [...read.flatMap((entry) => comparison.differences(entry)), ...comparison.missing()]
  return found.map((difference) => {
    if (difference.kind === 'missing') return `missing ${difference.operation.key}`
    const { line } = difference.entry
    if (difference.kind === 'extra') return `${line} extra, ${difference.because}`
    return `${line} differing, ${difference.column} ${difference.exported} for ${difference.recorded}`
  })
}

test('entries are found by the key that the provider was told, or by the client’s', () => {
  const made = operations({ key: 'a', providerKey: 'fg-a' }, { key: 'b', providerKey: 'fg-b' }, { key: 'c' })
  const comparison = () => new Comparison(made, [], [])
  expect(differences(comparison(), 'fg-a', 'b', 'c')).toEqual([])
  expect(differences(comparison(), 'fg-a', 'a', 'fg-c')).toEqual([
    '3 extra, repeated',
    '4 extra, not-on-record',
    'missing b',
    'missing c',
  ])
})

test("the provider's key comes before a client's that is the same", () => {
  const made = operations({ key: 'x', providerKey: 'a' }, { key: 'a', providerKey: 'y' })
  expect(differences(new Comparison(made, [], []), 'a', 'a')).toEqual(['3 extra, repeated', 'missing a'])
})

test('what is not applied by the record is extra, with what the record says; and never missing', () => {
  const made = operations({ key: 'lost', attempt: LOST }, { key: 'poor', attempt: REFUSED })
  expect(differences(new Comparison(made, [], []), 'lost', undefined, 'poor', '')).toEqual([
    '2 extra, unknown',
    '3 extra, not-on-record',
    '4 extra, failed',
    '5 extra, not-on-record',
  ])
  expect(differences(new Comparison(made, [], []))).toEqual([])
})

test('columns are compared where the record knows them', () => {
  const made = operations({ key: 'a' }, { key: 'b' }, { key: 'c' }, { key: 'found', attempt: FOUND })
  expect(
    differences(
      new Comparison(made, [], [STATUS]),
      'a',
      { key: 'b', values: ['200'] },
      { key: 'c', values: [undefined] },
      { key: 'found', values: ['anything'] },
    ),
  ).toEqual(['3 differing, code 200 for 201', '4 differing, code undefined for 201'])
})

test('entries of operations that are not compared are passed over', () => {
  const [a, b, ...none] = operations({ key: 'a' }, { key: 'b', scope: 't', providerKey: 'fg-b' })
  expect(none).toEqual([])
  const comparison = new Comparison([a as ReconciledOperation], [b as ReconciledOperation], [])
  expect(differences(comparison, 'b', 'fg-b', 'b', 'c')).toEqual(['5 extra, not-on-record', 'missing a'])
})

test('a key of two scopes is ambiguous where both are compared, and only if there is an entry of it', () => {
  const made = operations({ key: 'a' }, { key: 'a', scope: 't' })
  const [ofS, ofT] = made as [ReconciledOperation, ReconciledOperation]
  const comparison = new Comparison(made, [], [])
  expect(differences(comparison, 'b')).toEqual(['2 extra, not-on-record', 'missing a', 'missing a'])
  const entry = { line: 7, key: 'a', values: [] }
  expect(() => comparison.differences(entry)).toThrow(AmbiguousKeyError)
  expect(() => comparison.differences(entry)).toThrow('operations of the scopes s and t have the key a')
  expect(differences(new Comparison([ofS], [ofT], []), 'a')).toEqual([])
})

test('whatever the provider dropped, repeated, made up or changed is found, and nothing else', () => {
  const operation = fc.record({
    fate: fc.constantFrom('kept', 'dropped', 'repeated', 'changed'),
    attempt: fc.constantFrom(APPLIED, FOUND, LOST, REFUSED),
    derived: fc.boolean(),
    byClientKey: fc.boolean(),
  })
  const property = fc.property(
    fc.array(operation, { maxLength: 30 }),
    fc.array(fc.nat(3), { maxLength: 5 }),
    fc.nat(),
    (made, strangers, seed) => {
      const all = operations(
        ...made.map(({ attempt, derived }, i) => ({
          key: `k${i}`,
          providerKey: derived ? `p${i}` : `k${i}`,
          attempt,
        })),
      )
      const expected = new Map<string, number>()
      const expectOne = (what: string) => expected.set(what, (expected.get(what) ?? 0) + 1)
      const entries = all.flatMap(({ key, providerKey, canonical }, i) => {
        const { fate, byClientKey, attempt } = made[i] as (typeof made)[number]
        const entry = { key: byClientKey ? key : providerKey, values: [fate === 'changed' ? '500' : '201'] }
        if (fate === 'dropped') {
          if (canonical) expectOne('missing')
          return []
        }
        const times = fate === 'repeated' ? 2 : 1
        if (!canonical) for (let n = 0; n < times; n++) expectOne('extra')
        else if (fate === 'repeated') expectOne('extra')
        else if (fate === 'changed' && attempt === APPLIED) expectOne('differing')
        return Array.from({ length: times }, () => entry)
      })
      for (const _ of strangers) expectOne('extra')
      const shuffled = [...entries, ...strangers.map((n) => ({ key: `stranger-${n}`, values: ['201'] }))]
        .map((entry, i) => ({ entry, place: Math.sin(seed + i) }))
        .sort((a, b) => a.place - b.place)
      const comparison = new Comparison(all, [], [STATUS])
      const found = [
        ...shuffled.flatMap(({ entry }, line) => comparison.differences({ line, ...entry })),
        ...comparison.missing(),
      ]
      expect(
        new Map(Object.entries(Object.groupBy(found, ({ kind }) => kind)).map(([k, v]) => [k, v?.length])),
      ).toEqual(expected)
    },
  )
  fc.assert(property)
})
