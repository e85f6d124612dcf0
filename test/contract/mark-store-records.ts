/**
 * The second half of the contract: intents, unknown outcomes, resolutions, freezes and acts, and what a start
 * makes of them.
 */
import { describe, expect, test } from 'vitest'
import type { Act } from '../../src/journal/records.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { markChange, TIMED_OUT, unknownWrite, writeRecord } from '../support/store-changes.ts'
import type { Place } from './mark-store.ts'

const FULL = writeRecord('full', {
  token: 9007199254740993n,
  holder: 'worker-1',
  holds: true,
  operation: 'op-1',
})

const NOTHING = { tasks: 0, unresolved: 0, frozen: 0, lastEntry: 0 }

const intent = (write = writeRecord('w')): Change => ({ kind: 'intent', write })
const unknown = (write = writeRecord('w'), end = TIMED_OUT): Change => ({ kind: 'unknown', write, end })
const frozen = (task: string, on: boolean): Change => ({ kind: 'frozen', task, frozen: on })
const resolved = (id: string, resolution: 'applied' | 'not-applied' | 'compensated' = 'applied') =>
  ({ kind: 'resolved', id, resolution, by: 'ops', note: 'in the ledger', atMs: 3_000 }) as const

const ACT: Act = {
  kind: 'raise',
  task: 'k',
  token: MAX_TOKEN,
  by: 'ops',
  reason: 'the lease service starts again',
  atMs: 4_000,
}

export function recordsContract(name: string, place: (floor: bigint) => Place): void {
  describe(`records of a mark store: ${name}`, () => {
    test('the first holder is kept with its token, and goes with it', async () => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([markChange('k', 8n, false, 'worker-1')])
      expect(await store.load('k')).toMatchObject({ mark: { token: 8n, holder: 'worker-1' } })
      await store.commit([markChange('k', 8n, true, 'worker-1')])
      await store.close(true)
      const reopened = await here.open()
      const mark = { token: 8n, complete: true, recorded: true, holder: 'worker-1' }
      expect(await reopened.load('k')).toEqual({ mark, frozen: false, held: [] })
      await reopened.commit([markChange('k', 7n, true, 'worker-0')])
      expect(await reopened.load('k')).toMatchObject({ mark: { token: 8n, holder: 'worker-1' } })
      await reopened.commit([markChange('k', 9n, true)])
      expect((await reopened.load('k')).mark).toEqual({ ...mark, token: 9n, holder: undefined })
      await reopened.close(true)
    })

    test('an intent is neither listed nor held while it is open, and gone when it has ended', async () => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([intent(writeRecord('w', { holds: true }))])
      expect(await store.unresolved(9)).toEqual([])
      expect(await store.unknownWrite('w')).toBeUndefined()
      expect((await store.load('k')).held).toEqual([])
      expect(store.counts()).toEqual({ ...NOTHING, commitSequence: 1 })
      await store.commit([{ kind: 'ended', id: 'w' }])
      await store.close(false)
      const reopened = await here.open()
      expect(await reopened.unresolved(9)).toEqual([])
      await reopened.close(true)
    })

    test.each([
      ['an intent', [intent(FULL)]],
      ['nothing', []],
    ] as const)('an unknown ending after %s is listed with all that is known', async (_, before) => {
      const here = place(0n)
      const store = await here.open()
      await store.commit(before)
      await store.commit([unknown(FULL)])
      expect(await store.unresolved(9)).toEqual([unknownWrite(FULL)])
      expect(await store.unknownWrite('full')).toEqual(unknownWrite(FULL))
      expect((await store.load('k')).held).toEqual([{ id: 'full', token: FULL.token }])
      expect(store.counts().unresolved).toBe(1)
      await store.close(true)
      const reopened = await here.open()
      expect(await reopened.unresolved(9)).toEqual([unknownWrite(FULL)])
      expect((await reopened.load('k')).held).toEqual([{ id: 'full', token: FULL.token }])
      expect(reopened.counts().unresolved).toBe(1)
      await reopened.close(true)
    })

    test('an unknown ending is recorded once, as it was first; what ended after it changes nothing', async () => {
      const store = await place(0n).open()
      await store.commit([unknown()])
      await store.commit([unknown(writeRecord('w'), { ...TIMED_OUT, reason: 'status' })])
      await store.commit([{ kind: 'ended', id: 'w' }, intent()])
      expect(await store.unresolved(9)).toEqual([unknownWrite(writeRecord('w'))])
      expect(store.counts().unresolved).toBe(1)
      await store.close(true)
    })

    test('unresolved lists the oldest first, as many as are asked for', async () => {
      const here = place(0n)
      const store = await here.open()
      const ids = ['d', 'b', 'a', 'c']
      await store.commit(ids.map((id) => intent(writeRecord(id))))
      for (const id of ids.toReversed()) await store.commit([unknown(writeRecord(id))])
      await store.commit([
        unknown(writeRecord('e', { task: 'other' })),
        intent(writeRecord('f', { task: 'other' })),
      ])
      const listed = async (limit: number, task?: string) =>
        (await store.unresolved(limit, task)).map(({ id }) => id)
      expect(await listed(9)).toEqual([...ids, 'e'])
      expect(await listed(9, 'k')).toEqual(ids)
      expect(await listed(9, 'other')).toEqual(['e'])
      expect(await listed(2, 'k')).toEqual(['d', 'b'])
      expect(await listed(2)).toEqual(['d', 'b'])
      await store.commit([resolved('d')])
      expect(await listed(2)).toEqual(['b', 'a'])
      await store.close(true)
    })

    test('only unresolved writes of their task that hold are held', async () => {
      const store = await place(0n).open()
      const holds = (id: string, task: string) => unknown(writeRecord(id, { task, holds: true }))
      await store.commit([holds('1', 'k'), unknown(writeRecord('2')), holds('3', 'other'), holds('4', 'k')])
      const held = async () => (await store.load('k')).held.map(({ id }) => id)
      expect(await held()).toEqual(['1', '4'])
      await store.commit([resolved('1')])
      expect(await held()).toEqual(['4'])
      expect(store.counts().unresolved).toBe(3)
      await store.close(true)
    })

    test('a resolution is kept as it was first; it takes an unknown write, not an intent', async () => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([intent(writeRecord('open')), resolved('open'), resolved('nothing')])
      await store.commit([unknown()])
      await store.commit([resolved('w', 'not-applied')])
      await store.commit([resolved('w', 'applied')])
      const expected = {
        ...unknownWrite(writeRecord('w')),
        resolution: 'not-applied',
        resolvedBy: 'ops',
        note: 'in the ledger',
        resolvedAtMs: 3_000,
      }
      expect(await store.unknownWrite('w')).toEqual(expected)
      expect(await store.unresolved(9)).toEqual([])
      expect(store.counts().unresolved).toBe(0)
      await store.close(true)
      const reopened = await here.open()
      expect(await reopened.unknownWrite('w')).toEqual(expected)
      expect(await reopened.unresolved(9)).toMatchObject([{ id: 'open', reason: 'restart' }])
      await reopened.close(true)
    })

    test('a freeze is of one task, counted once, and lasts until it is thawed', async () => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([frozen('k', true), frozen('k', true), frozen('other', false)])
      expect((await store.load('k')).frozen).toBe(true)
      expect((await store.load('other')).frozen).toBe(false)
      expect(store.counts()).toEqual({ ...NOTHING, commitSequence: 1, frozen: 1 })
      await store.close(false)
      const reopened = await here.open()
      expect((await reopened.load('k')).frozen).toBe(true)
      expect(reopened.counts().frozen).toBe(1)
      await reopened.commit([frozen('k', false)])
      expect((await reopened.load('k')).frozen).toBe(false)
      expect(reopened.counts().frozen).toBe(0)
      await reopened.close(true)
    })

    test('one commit takes changes of every kind, in order', async () => {
      const here = place(0n)
      const { store, kill } = await here.openToKill()
      await store.commit([
        markChange('k', 8n, false),
        frozen('k', true),
        { kind: 'act', act: ACT },
        intent(writeRecord('1')),
        unknown(writeRecord('1')),
        resolved('1', 'compensated'),
        intent(writeRecord('2')),
        { kind: 'ended', id: '2' },
        unknown(writeRecord('3', { holds: true })),
        markChange('k', 9n, true, 'worker-1'),
        frozen('k', false),
      ])
      const counts = { tasks: 1, commitSequence: 1, unresolved: 1, frozen: 0, lastEntry: 2 }
      expect(store.counts()).toEqual(counts)
      await kill()
      const reopened = await here.open()
      expect(reopened.counts()).toEqual(counts)
      expect(await reopened.load('k')).toEqual({
        mark: { token: 9n, complete: true, recorded: true, holder: 'worker-1' },
        frozen: false,
        held: [{ id: '3', token: 8n }],
      })
      expect(await reopened.unknownWrite('1')).toMatchObject({ resolution: 'compensated' })
      expect(await reopened.unknownWrite('2')).toBeUndefined()
      await reopened.close(true)
    })

    test.each([true, false])('intents that are open at a stop (clean: %s) are unknown', async (clean) => {
      const here = place(0n)
      const store = await here.open()
      await store.commit([intent(FULL), intent(writeRecord('ended')), { kind: 'ended', id: 'ended' }])
      await store.close(clean)
      await restartedWith(here)
    })

    test('intents that are open when the process is killed are unknown', async () => {
      const here = place(0n)
      const { store, kill } = await here.openToKill()
      await store.commit([intent(FULL)])
      await kill()
      await restartedWith(here)
    })

    async function restartedWith(here: Place): Promise<void> {
      const reopened = await here.open()
      expect(reopened.counts().unresolved).toBe(1)
      const [write] = await reopened.unresolved(9)
      const end = { reason: 'restart', bytesSent: undefined, endedAtMs: expect.any(Number) } as const
      expect(write).toEqual(unknownWrite(FULL, end as never))
      expect(Math.abs((write?.endedAtMs ?? 0) - Date.now())).toBeLessThan(60_000)
      expect((await reopened.load('k')).held).toEqual([{ id: 'full', token: FULL.token }])
      await reopened.commit([resolved('full')])
      expect(reopened.counts().unresolved).toBe(0)
      await reopened.close(true)
      const again = await here.open()
      expect(await again.unresolved(9)).toEqual([])
      expect((await again.load('k')).held).toEqual([])
      await again.close(true)
    }

    test('intents were complete only if the process before said so and needed no grace itself', async () => {
      const here = place(0n)
      /** A run that ends uncleanly; returns what it found. */
      const run = async (intentsComplete: boolean) => {
        const store = await here.open({ intentsComplete })
        await store.close(false)
        const { unclean, intentsWereComplete } = store.origin
        return { unclean, intentsWereComplete }
      }
      expect(await run(true), 'a new store').toEqual({ unclean: false, intentsWereComplete: false })
      expect(await run(true)).toEqual({ unclean: true, intentsWereComplete: true })
      expect(await run(false)).toEqual({ unclean: true, intentsWereComplete: true })
      expect(await run(true), 'needs grace').toEqual({ unclean: true, intentsWereComplete: false })
      expect(await run(true), 'of one that waited').toEqual({ unclean: true, intentsWereComplete: false })
      const waited = await here.open({ intentsComplete: true })
      await waited.close(true)
      expect(await run(true), 'of a clean stop').toMatchObject({ unclean: false })
      const { store, kill } = await here.openToKill({ intentsComplete: true })
      expect(store.origin).toMatchObject({ unclean: true, intentsWereComplete: true })
      await kill()
      expect(await run(false), 'after a kill').toEqual({ unclean: true, intentsWereComplete: true })
    })

    test('a process that stops recording every intent says so before it does', async () => {
      const here = place(0n)
      const store = await here.open({ intentsComplete: true })
      await store.commit([{ kind: 'without-intents' }])
      await store.close(false)
      const again = await here.open({ intentsComplete: true })
      expect(again.origin).toMatchObject({ unclean: true, intentsWereComplete: false })
      await again.close(true)
    })

    test('a store with a floor replaces one whose intents nobody knows', async () => {
      const here = place(7n)
      const store = await here.open({ intentsComplete: true })
      expect(store.origin).toMatchObject({ unclean: true, intentsWereComplete: false })
      await store.close(false)
      const again = await here.open({ intentsComplete: true })
      expect(again.origin).toMatchObject({ unclean: true, intentsWereComplete: false })
      await again.close(true)
    })

    test('an act is taken on its own, and after a close nothing is', async () => {
      const store = await place(0n).open()
      await store.commit([{ kind: 'act', act: ACT }])
      await store.commit([{ kind: 'act', act: { ...ACT, kind: 'freeze', token: undefined } }])
      expect(store.counts()).toEqual({ ...NOTHING, commitSequence: 2, lastEntry: 2 })
      await store.close(true)
      await expect(store.commit([{ kind: 'act', act: ACT }])).rejects.toThrow('closed')
      await expect(store.unresolved(1)).rejects.toThrow('closed')
      await expect(store.unknownWrite('w')).rejects.toThrow('closed')
    })
  })
}
