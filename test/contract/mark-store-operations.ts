/** The part of the contract on operations: what one is by how its attempts ended, and what is kept of its answer. */
import { describe, expect, test } from 'vitest'
import type { AttemptEnd, OperationState, RecordedAnswer } from '../../src/journal/operations.ts'
import type { MarkStore } from '../../src/store/mark-store.ts'
import { ANSWER, attemptRecord, begin, ENDS, finish, listed, resolved } from '../support/store-operations.ts'
import type { Place } from './mark-store.ts'

type Step = keyof typeof ENDS | 'applied' | 'not-applied' | 'compensated'

/**
 * What becomes of an operation, attempt by attempt. `not-applied` and its like are what somebody found out about the
 * last attempt that was unknown and isn't resolved.
 */
const STORIES: readonly (readonly [steps: readonly Step[], state: OperationState, everUnknown: boolean])[] = [
  [['final'], 'done', false],
  [['refused'], 'failed', false],
  [['notSent'], 'failed', false],
  [['unknown'], 'unknown', true],
  [['refused', 'notSent'], 'failed', false],
  [['refused', 'final'], 'done', false],
  [['unknown', 'refused'], 'unknown', true],
  [['unknown', 'notSent'], 'unknown', true],
  [['unknown', 'final'], 'done', true],
  [['unknown', 'not-applied'], 'failed', true],
  [['unknown', 'not-applied', 'refused'], 'failed', true],
  [['unknown', 'applied'], 'done', true],
  [['unknown', 'compensated'], 'done', true],
  [['unknown', 'unknown', 'not-applied'], 'unknown', true],
  [['unknown', 'unknown', 'not-applied', 'not-applied'], 'failed', true],
  [['unknown', 'refused', 'not-applied'], 'failed', true],
  [['unknown', 'unknown', 'applied', 'not-applied'], 'done', true],
  [['unknown', 'final', 'not-applied'], 'done', true],
  [['final', 'unknown', 'refused', 'notSent'], 'done', true],
]

/** Plays the steps as attempts of one operation, with a look at it while each is open. */
async function play(store: MarkStore, operation: string, steps: readonly Step[]): Promise<void> {
  const unresolved: string[] = []
  for (const [i, step] of steps.entries()) {
    const end: AttemptEnd | undefined = step in ENDS ? ENDS[step as keyof typeof ENDS] : undefined
    if (!end) {
      await store.commit([resolved(unresolved.pop() as string, step as 'applied')])
      continue
    }
    const attempt = attemptRecord(`${operation}: ${i}`, operation, { atMs: 1_000 + i })
    const before = (await store.operation(operation))?.state
    await store.commit(begin(attempt))
    expect((await store.operation(operation))?.state).toBe(before === 'done' ? 'done' : 'open')
    await store.commit(finish(attempt, end))
    if (end.outcome === 'unknown') unresolved.push(attempt.id)
  }
}

export function operationsContract(name: string, place: (floor: bigint) => Place): void {
  describe(`operations of a mark store: ${name}`, () => {
    test('an operation that nobody attempted is not on record', async () => {
      const store = await place(0n).open()
      expect(await store.operation('op')).toBeUndefined()
      await store.commit([
        { kind: 'attempt-ended', id: '1', operation: 'op', end: ENDS.final },
        resolved('1', 'applied'),
      ])
      expect(await store.operation('op')).toBeUndefined()
      await store.close(true)
    })

    test('the first attempt names an operation; later ones change neither its key nor its age', async () => {
      const here = place(0n)
      const store = await here.open()
      const first = attemptRecord('1', 'op', { atMs: 1_000, token: undefined })
      await store.commit(begin(first))
      const expected = { ...first.operation, state: 'open', answer: undefined, everUnknown: false }
      expect(await store.operation('op')).toEqual(expected)
      await store.commit(finish(first, ENDS.refused))
      const second = attemptRecord('2', 'op', { atMs: 5_000, token: 2n ** 63n - 1n, holder: 'worker-2' })
      const named = { ...second.operation, fingerprint: 'another', providerKey: 'another' }
      await store.commit(begin({ ...second, operation: named }))
      expect(await store.operation('op')).toEqual(expected)
      expect((await store.attempts({ limit: 9, after: 0 })).rows).toEqual([
        { ...listed(first, 1), outcome: 'answered', status: 409, endedAtMs: 2_000 },
        listed(second, 2),
      ])
      await store.close(true)
    })

    test('an operation is what its attempts and their resolutions make it', async () => {
      const here = place(0n)
      const store = await here.open()
      const told = (from: MarkStore) => Promise.all(STORIES.map(([steps]) => from.operation(steps.join())))
      for (const [steps] of STORIES) await play(store, steps.join(), steps)
      const expected = STORIES.map(([steps, state, everUnknown]) => {
        return { id: steps.join(), state, everUnknown, answer: steps.includes('final') ? ANSWER : undefined }
      })
      expect(await told(store)).toMatchObject(expected)
      await store.close(true)
      const reopened = await here.open()
      expect(await told(reopened)).toMatchObject(expected)
      await reopened.close(true)
    })

    test('an answer is kept as it was first, whatever is reported after it', async () => {
      const store = await place(0n).open()
      const [one, two] = [attemptRecord('1'), attemptRecord('2')]
      await store.commit([...begin(one), ...finish(one, ENDS.final)])
      const other = { ...ENDS.final, answer: { ...ANSWER, status: 200 } }
      await store.commit([...finish(one, other), ...begin(two), ...finish(two, other)])
      expect(await store.operation('op')).toMatchObject({ state: 'done', answer: ANSWER })
      await store.close(true)
    })

    test('what is done without an answer takes the one that comes after all', async () => {
      const store = await place(0n).open()
      const [one, two] = [attemptRecord('1'), attemptRecord('2')]
      await store.commit([...begin(one), ...finish(one, ENDS.unknown), ...begin(two)])
      await store.commit([resolved('1', 'applied')])
      expect(await store.operation('op')).toMatchObject({ state: 'done', answer: undefined })
      await store.commit(finish(two, ENDS.final))
      expect(await store.operation('op')).toMatchObject({ state: 'done', answer: ANSWER })
      await store.close(true)
    })

    test('answers come back as they were kept, with a body or without', async () => {
      const here = place(0n)
      const store = await here.open()
      const answers: RecordedAnswer[] = [
        { status: 200, headers: [], bodyKept: 'plain', body: new Uint8Array() },
        { status: 299, headers: ['x', ''], bodyKept: 'encrypted', body: Uint8Array.from([1, 2]) },
        { status: 402, headers: ['x', 'é', 'x', 'b'], bodyKept: 'too-large', body: undefined },
        { status: 204, headers: [], bodyKept: 'none', body: undefined },
        { status: 200, headers: [], bodyKept: 'erased', body: undefined },
      ]
      for (const [i, answer] of answers.entries()) {
        const attempt = attemptRecord(`${i}`, `op-${i}`)
        await store.commit([...begin(attempt), ...finish(attempt, { ...ENDS.final, answer })])
      }
      await store.close(true)
      const reopened = await here.open()
      const kept = await Promise.all(answers.map((_, i) => reopened.operation(`op-${i}`)))
      expect(kept.map((operation) => operation?.answer)).toEqual(answers)
      await reopened.close(true)
    })

    test('the same commit a second time changes nothing, however things went on between', async () => {
      const store = await place(0n).open()
      const [one, two] = [attemptRecord('1'), attemptRecord('2', 'op', { atMs: 9_000 })]
      const commits = [begin(one), finish(one, ENDS.unknown), [resolved('1', 'not-applied')], begin(two)]
      for (const changes of commits) await store.commit(changes)
      const told = async () => [
        await store.operation('op'),
        await store.operations({ limit: 9, after: 0 }),
        await store.attempts({ limit: 9, after: 0 }),
        (await store.load('k')).held,
        store.counts().unresolved,
      ]
      const before = await told()
      for (const changes of commits) await store.commit(changes)
      expect(await told()).toEqual(before)
      await store.commit(finish(two, ENDS.final))
      await store.commit([...begin(two), ...finish(two, ENDS.unknown).slice(1)])
      expect(await store.operation('op')).toMatchObject({ state: 'done', answer: ANSWER })
      await store.close(true)
    })

    test.each([true, false])('attempts that are open at a stop (clean: %s) are unknown', async (clean) => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([...begin(attemptRecord('1', 'a')), ...begin(attemptRecord('2', 'b'))])
      await store.commit(finish(attemptRecord('2', 'b'), ENDS.final))
      await store.close(clean)
      await restartedWith(here)
    })

    test('attempts that are open when the process is killed are unknown', async () => {
      const here = place(0n)
      const { store, kill } = await here.openToKill()
      await store.commit([...begin(attemptRecord('1', 'a')), ...begin(attemptRecord('2', 'b'))])
      await store.commit(finish(attemptRecord('2', 'b'), ENDS.final))
      await kill()
      await restartedWith(here)
    })

    async function restartedWith(here: Place): Promise<void> {
      const store = await here.open()
      expect(await store.operation('a')).toMatchObject({ state: 'unknown', everUnknown: true })
      expect(await store.operation('b')).toMatchObject({ state: 'done', everUnknown: false, answer: ANSWER })
      expect((await store.attempts({ limit: 9, after: 0 })).rows).toMatchObject([
        { id: '1', outcome: 'unknown', reason: 'restart', endedAtMs: expect.any(Number) },
        { id: '2', outcome: 'answered', final: true },
      ])
      expect((await store.load('k')).held).toEqual([{ id: '1', token: 8n, operation: 'a' }])
      expect(store.counts().unresolved).toBe(1)
      await store.commit([resolved('1', 'not-applied')])
      expect(await store.operation('a')).toMatchObject({ state: 'failed', everUnknown: true })
      expect((await store.load('k')).held).toEqual([])
      await store.close(true)
    }

    test('a held write tells which operation it was an attempt of, and one of none tells none', async () => {
      const store = await place(0n).open()
      const attempt = attemptRecord('1')
      await store.commit([...begin(attempt), ...finish(attempt, ENDS.unknown)])
      await store.commit(finish(attemptRecord('2', 'nothing'), ENDS.unknown).slice(0, 1))
      expect((await store.load('k')).held).toEqual([
        { id: '1', token: 8n, operation: 'op' },
        { id: '2', token: 8n, operation: undefined },
      ])
      await store.close(true)
    })

    test('a resolution of an attempt whose write is resolved already changes nothing', async () => {
      const store = await place(0n).open()
      const attempt = attemptRecord('1')
      await store.commit([...begin(attempt), ...finish(attempt, ENDS.unknown), resolved('1', 'not-applied')])
      await store.commit([resolved('1', 'applied')])
      expect(await store.operation('op')).toMatchObject({ state: 'failed' })
      const { rows } = await store.attempts({ limit: 9, after: 0 })
      expect(rows).toMatchObject([{ resolution: 'not-applied' }])
      await store.close(true)
    })

    test('after a close nothing is told', async () => {
      const store = await place(0n).open()
      await store.close(true)
      const query = { limit: 1, after: 0 }
      for (const asked of [
        store.operation('op'),
        store.operations(query),
        store.attempts(query),
        store.journal(query),
        store.prune({ nowMs: 0, maxAgeMs: 0, maxRows: 0 }),
      ]) {
        await expect(asked).rejects.toThrow('closed')
      }
    })
  })
}
