/** The part of the contract on the record that is read in pages: lists, the journal, and what may be forgotten of them. */
import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../src/journal/entries.ts'
import type { AttemptRecord } from '../../src/journal/operations.ts'
import type { Change } from '../../src/store/mark-store.ts'
import {
  ANSWER,
  allPages,
  attemptRecord,
  begin,
  ENDS,
  finish,
  resolved,
} from '../support/store-operations.ts'
import type { Place } from './mark-store.ts'

const ALL = { limit: 99, after: 0 }

function entry(atMs: number, fields: Partial<JournalEntry> = {}): JournalEntry {
  return { atMs, kind: 'handover', task: 'k', token: 8n, data: { at: atMs }, ...fields }
}

const journal = (...entries: JournalEntry[]): Change => ({ kind: 'journal', entries })

/** An operation whose one attempt has ended so. */
function ended(operation: string, how: keyof typeof ENDS, atMs = 1_000, task = 'k'): Change[] {
  const attempt = attemptRecord(`of ${operation}`, operation, { atMs, task })
  return [...begin(attempt), ...finish(attempt, ENDS[how])]
}

export function journalContract(name: string, place: (floor: bigint) => Place): void {
  describe(`lists and journal of a mark store: ${name}`, () => {
    test('operations are listed in the order of their first attempts, by task and by state', async () => {
      const store = await place(0n).open()
      const open = attemptRecord('of d', 'd', { task: 'other' })
      await store.commit([...ended('c', 'final'), ...ended('b', 'unknown'), ...ended('a', 'refused')])
      await store.commit([...begin(open), ...ended('e', 'final', 9_000, 'other')])
      await store.commit(begin(attemptRecord('again', 'a', { atMs: 7_000, keepMs: 10 })))
      const ids = async (query: { task?: string; state?: 'open' | 'failed' | 'unknown' | 'done' }) => {
        for (const limit of [1, 2, 9]) {
          const rows = await allPages((after) => store.operations({ ...query, limit, after }))
          expect(rows).toEqual((await store.operations({ ...query, ...ALL })).rows)
        }
        return (await store.operations({ ...query, ...ALL })).rows.map(({ id }) => id).join('')
      }
      expect(await ids({})).toBe('cbade')
      expect(await ids({ task: 'other' })).toBe('de')
      expect(await ids({ state: 'done' })).toBe('ce')
      expect(await ids({ state: 'open' })).toBe('ad')
      expect(await ids({ state: 'open', task: 'k' })).toBe('a')
      expect(await ids({ state: 'unknown' })).toBe('b')
      expect(await ids({ state: 'failed' })).toBe('')
      expect(await ids({ state: 'done', task: 'nothing' })).toBe('')
      const { answer: _, ...done } = (await store.operation('c')) ?? expect.unreachable()
      const { rows } = await store.operations(ALL)
      const at = { seq: 1, status: 201, bodyKept: 'plain', lastAtMs: 1_000, keepUntilMs: 1_500 }
      expect(rows[0]).toEqual({ ...done, ...at })
      expect(rows[2]).toMatchObject({ firstAtMs: 1_000, lastAtMs: 7_000, keepUntilMs: 7_010 })
      await store.close(true)
    })

    test('attempts are listed in the order in which they began, by task, token and operation', async () => {
      const store = await place(0n).open()
      const attempts = [
        attemptRecord('4', 'a', { token: undefined }),
        attemptRecord('3', 'b', { token: 2n ** 63n - 1n, atMs: 900 }),
        attemptRecord('2', 'a'),
        attemptRecord('1', 'c', { task: 'other' }),
      ]
      for (const attempt of attempts) await store.commit(begin(attempt))
      const ids = async (query: { task?: string; token?: bigint; operation?: string }) => {
        const rows = await allPages((after) => store.attempts({ ...query, limit: 2, after }))
        return rows.map(({ id }) => id).join('')
      }
      expect(await ids({})).toBe('4321')
      expect(await ids({ task: 'k' })).toBe('432')
      expect(await ids({ task: 'k', token: 8n })).toBe('2')
      expect(await ids({ token: 8n })).toBe('21')
      expect(await ids({ token: 2n ** 63n - 1n })).toBe('3')
      expect(await ids({ operation: 'a' })).toBe('42')
      expect(await ids({ operation: 'a', token: 8n })).toBe('2')
      expect(await ids({ operation: 'a', task: 'other' })).toBe('')
      expect(await ids({ operation: 'nothing' })).toBe('')
      await store.close(true)
    })

    test('a page looks at as many records as it may, and says where the next begins', async () => {
      const store = await place(0n).open()
      for (const id of ['a', 'b', 'c', 'd']) await store.commit(ended(id, id === 'c' ? 'final' : 'refused'))
      const done = (after: number) => store.operations({ state: 'done', limit: 2, after })
      expect(await done(0)).toEqual({ rows: [], next: 2 })
      expect(await done(2)).toMatchObject({ rows: [{ id: 'c', seq: 3 }], next: 4 })
      expect(await done(4)).toEqual({ rows: [], next: undefined })
      await store.close(true)
    })

    test('the journal keeps what happened, in order, and acts and resolutions with it', async () => {
      const here = place(0n)
      const store = await here.open()
      const data = { text: 'é', list: [1, null, { deep: true }] }
      const full = entry(5_000, { kind: 'rejection', token: 2n ** 63n - 1n, data })
      const bare = entry(1_000, { task: undefined, token: undefined, kind: 'dropped', data: {} })
      const who = { by: 'ops', reason: 'why' }
      await store.commit([journal(full, bare), ...ended('op', 'unknown')])
      await store.commit([
        resolved('of op', 'applied'),
        { kind: 'act', act: { ...who, kind: 'resolve', task: 'k', token: undefined, atMs: 3_000 } },
      ])
      await store.commit([resolved('of op', 'applied')])
      await store.commit([
        { kind: 'act', act: { ...who, kind: 'raise', task: 'other', token: 9n, atMs: 4_000 } },
      ])
      await store.close(true)
      const reopened = await here.open()
      const found = { id: 'of op', resolution: 'applied', by: 'ops', reason: 'in the ledger' }
      const expected = [
        { ...full, seq: 1 },
        { ...bare, seq: 2 },
        { seq: 3, atMs: 3_000, kind: 'resolved', task: 'k', token: 8n, data: found },
        { seq: 4, atMs: 4_000, kind: 'act', task: 'other', token: 9n, data: { act: 'raise', ...who } },
      ]
      expect(await reopened.journal(ALL)).toEqual({ rows: expected, next: undefined })
      expect(await allPages((after) => reopened.journal({ limit: 1, after }))).toEqual(expected)
      const ofTask = await reopened.journal({ ...ALL, task: 'k' })
      expect(ofTask.rows.map(({ seq }) => seq)).toEqual([1, 3])
      await reopened.close(true)
    })

    test('the journal forgets by age and by number, but never its newest entry', async () => {
      const store = await place(0n).open()
      await store.commit([journal(entry(1_000), entry(2_000), entry(3_000), entry(9_000))])
      const seqs = async () => (await store.journal(ALL)).rows.map(({ seq }) => seq)
      const prune = (nowMs: number, maxRows = 99) => store.prune({ nowMs, maxAgeMs: 1_000, maxRows })
      expect(await prune(1_999)).toEqual({ entries: 0, operations: 0, attempts: 0, more: false })
      expect(await prune(2_000)).toEqual({ entries: 1, operations: 0, attempts: 0, more: false })
      expect(await seqs()).toEqual([2, 3, 4])
      await prune(0, 2)
      expect(await seqs()).toEqual([3, 4])
      await prune(99_000, 0)
      expect(await seqs()).toEqual([4])
      await store.commit([journal(entry(9_001))])
      expect(await seqs()).toEqual([4, 5])
      await store.close(true)
    })

    test('an operation is forgotten when its time after its last attempt is over, with its attempts', async () => {
      const store = await place(0n).open()
      await store.commit([
        ...ended('a', 'final'),
        ...ended('b', 'refused'),
        ...ended('last', 'final', 99_000),
      ])
      await store.commit([
        ...begin(attemptRecord('2', 'b', { atMs: 1_001 })),
        ...finish(attemptRecord('2', 'b'), ENDS.refused),
        ...begin(attemptRecord('3', 'last')),
      ])
      const prune = (nowMs: number) => store.prune({ nowMs, maxAgeMs: 99_000, maxRows: 99 })
      expect(await prune(1_499)).toMatchObject({ operations: 0, attempts: 0 })
      expect(await prune(1_500)).toMatchObject({ operations: 1, attempts: 1, more: false })
      expect(await store.operation('a')).toBeUndefined()
      expect(await prune(1_501)).toMatchObject({ operations: 1, attempts: 2, more: false })
      expect((await store.operations(ALL)).rows.map(({ id }) => id)).toEqual(['last'])
      expect((await store.attempts(ALL)).rows.map(({ id }) => id)).toEqual(['of last', '3'])
      await store.close(true)
    })

    test('of too many operations the next to expire go, but none whose key may be known', async () => {
      const store = await place(0n).open()
      const add = async (id: string, atMs: number, times: Partial<AttemptRecord>) => {
        const attempt = attemptRecord(id, id, { atMs, ...times })
        await store.commit([...begin(attempt), ...finish(attempt, ENDS.final)])
      }
      const times = { keepMs: 5_000, keyLifetimeMs: 500 }
      await add('a', 3_000, times)
      await add('b', 1_000, times)
      await add('c', 2_000, times)
      await add('d', 2_000, { keepMs: 5_000 }) // Its key is known as long as it is kept.
      await add('e', 2_000, { keepMs: 0, keyLifetimeMs: 5_000 })
      await add('f', 4_000, times)
      const left = async (nowMs: number, maxRows: number) => {
        await store.prune({ nowMs, maxAgeMs: 0, maxRows })
        return (await store.operations(ALL)).rows.map(({ id }) => id).join('')
      }
      expect(await left(3_400, 6)).toBe('abcdef')
      expect(await left(1_499, 0)).toBe('abcdef')
      expect(await left(3_400, 5)).toBe('acdef')
      expect(await left(3_400, 0)).toBe('adef')
      expect(await left(6_999, 0)).toBe('def')
      expect(await left(7_000, 99)).toBe('f')
      await store.close(true)
    })

    test('the operation of the newest attempt stays too, so that no place in a list comes twice', async () => {
      const store = await place(0n).open()
      const again = attemptRecord('again', 'a')
      await store.commit([...ended('a', 'refused'), ...ended('b', 'final'), ...ended('c', 'final')])
      await store.commit([...begin(again), ...finish(again, ENDS.final)])
      await store.prune({ nowMs: 99_000, maxAgeMs: 0, maxRows: 0 })
      expect((await store.operations(ALL)).rows.map(({ id }) => id)).toEqual(['a', 'c'])
      await store.commit(ended('d', 'final'))
      expect((await store.operations(ALL)).rows.map(({ seq }) => seq)).toEqual([1, 3, 4])
      expect((await store.attempts(ALL)).rows.map(({ seq }) => seq)).toEqual([1, 3, 4, 5])
      await store.close(true)
    })

    test('what is open, unknown or unresolved is never forgotten', async () => {
      const store = await place(0n).open()
      await store.commit([...begin(attemptRecord('1', 'open')), ...ended('unknown', 'unknown')])
      const again = attemptRecord('2', 'done after all')
      await store.commit([
        ...ended('done after all', 'unknown'),
        ...begin(again),
        ...finish(again, ENDS.final),
      ])
      await store.commit(ended('last', 'refused'))
      const prune = () => store.prune({ nowMs: 99_000, maxAgeMs: 0, maxRows: 0 })
      expect(await prune()).toMatchObject({ operations: 0, attempts: 0, more: false })
      expect(await store.operation('done after all')).toMatchObject({ state: 'done', answer: ANSWER })
      await store.commit([resolved('of unknown', 'not-applied'), resolved('of done after all', 'applied')])
      expect(await prune()).toMatchObject({ operations: 2, attempts: 3, more: false })
      expect((await store.operations(ALL)).rows.map(({ id }) => id)).toEqual(['open', 'last'])
      await store.close(true)
    })

    test('the bodies of one task are erased: all else of its answers is kept, and other tasks’ are', async () => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([
        ...ended('a', 'final'),
        ...ended('b', 'final', 1_000, 'other'),
        ...ended('c', 'refused'),
      ])
      const act = {
        kind: 'erase',
        task: 'k',
        token: undefined,
        by: 'ops',
        reason: 'asked to',
        atMs: 5_000,
      } as const
      await store.commit([
        { kind: 'erase-bodies', task: 'k' },
        { kind: 'act', act },
      ])
      await store.close(true)
      const reopened = await here.open()
      const answer = { ...ANSWER, bodyKept: 'erased', body: undefined }
      expect(await reopened.operation('a')).toMatchObject({ state: 'done', answer })
      expect(await reopened.operation('b')).toMatchObject({ state: 'done', answer: ANSWER })
      expect(await reopened.operation('c')).toMatchObject({ state: 'failed', answer: undefined })
      expect((await reopened.journal(ALL)).rows).toMatchObject([{ kind: 'act', data: { act: 'erase' } }])
      await reopened.close(true)
    })
  })
}
