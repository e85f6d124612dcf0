/**
 * What every mark store must do: the contract of `src/store/mark-store.ts`, as tests that are run against
 * each implementation.
 */
import { describe, expect, test } from 'vitest'
import { EXIT } from '../../src/errors.ts'
import type { MarkStore } from '../../src/store/mark-store.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { markOf, record } from '../support/store-changes.ts'

export interface Opening {
  readonly lockWaitMs?: number
  readonly intentsComplete?: boolean
}

/** One place where a store can be, and the ways into it. */
export interface Place {
  /** Opens it within this process. Rejects if another has it open for longer than `lockWaitMs`. */
  open(opening?: Opening): Promise<MarkStore>
  /** Opens it so that it can be killed: nothing is closed, nothing more is written. */
  openToKill(opening?: Opening): Promise<{ readonly store: MarkStore; kill(): Promise<void> }>
}

export function markStoreContract(name: string, place: (floor: bigint) => Place): void {
  describe(`mark store: ${name}`, () => {
    test('a task without a record has mark 0, incomplete, not recorded', async () => {
      const store = await place(0n).open()
      expect(await markOf(store, 'k')).toEqual({ token: 0n, complete: false, recorded: false })
      expect(store.counts()).toEqual({ tasks: 0, commitSequence: 0, unresolved: 0, frozen: 0, lastEntry: 0 })
      await store.close(true)
    })

    test('with a floor, a task without a record has the floor, incomplete, not recorded', async () => {
      const store = await place(7n).open()
      expect(await markOf(store, 'k')).toEqual({ token: 7n, complete: false, recorded: false })
      await record(store, 'k', 7n, true)
      expect(await markOf(store, 'k')).toEqual({ token: 7n, complete: true, recorded: true })
      expect(await markOf(store, 'other')).toEqual({ token: 7n, complete: false, recorded: false })
      await store.close(true)
    })

    test('a new store with a floor starts as after an unclean stop, one without does not', async () => {
      const [withFloor, without] = [await place(7n).open(), await place(0n).open()]
      expect(withFloor.origin.unclean).toBe(true)
      expect(without.origin.unclean).toBe(false)
      await withFloor.close(true)
      await without.close(true)
    })

    test.each([1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, MAX_TOKEN - 1n, MAX_TOKEN])(
      'token %d comes back exactly, also after a restart',
      async (token) => {
        const here = place(0n)
        const store = await here.open()
        await record(store, 'k', token, false)
        expect(await markOf(store, 'k')).toEqual({ token, complete: false, recorded: true })
        await record(store, 'k', token, true)
        await store.close(true)
        const reopened = await here.open()
        expect(await markOf(reopened, 'k')).toEqual({ token, complete: true, recorded: true })
        await reopened.close(true)
      },
    )

    test('a mark never goes down', async () => {
      const store = await place(0n).open()
      await record(store, 'k', 9n, true)
      await record(store, 'k', 8n, true)
      await record(store, 'k', 1n, false)
      expect(await markOf(store, 'k')).toEqual({ token: 9n, complete: true, recorded: true })
      await store.close(true)
    })

    test('at the same token completion is never taken back; a higher token starts without it', async () => {
      const store = await place(0n).open()
      await record(store, 'k', 9n, true)
      await record(store, 'k', 9n, false)
      expect(await markOf(store, 'k')).toMatchObject({ token: 9n, complete: true })
      await record(store, 'k', 10n, false)
      expect(await markOf(store, 'k')).toMatchObject({ token: 10n, complete: false })
      await store.close(true)
    })

    test('records of one turn keep their order and their highest token', async () => {
      const store = await place(0n).open()
      const tokens = [3n, 9n, 1n, 9n, 2n]
      await Promise.all(tokens.map((token, i) => record(store, 'k', token, i === 1)))
      expect(await markOf(store, 'k')).toEqual({ token: 9n, complete: true, recorded: true })
      expect(store.counts().tasks).toBe(1)
      await store.close(true)
    })

    test('a load asked for after a record was answered sees it; task names are compared byte for byte', async () => {
      const store = await place(0n).open()
      await record(store, 'Task', 5n, true)
      await record(store, 'task', 6n, true)
      await record(store, "o'; --", 7n, true)
      const marks = await Promise.all(['Task', 'task', "o'; --", 'TASK'].map((task) => markOf(store, task)))
      expect(marks.map(({ token }) => token)).toEqual([5n, 6n, 7n, 0n])
      await store.close(true)
    })

    test('thousands of parallel records are all there after a kill', async () => {
      const here = place(0n)
      const { store, kill } = await here.openToKill()
      const tasks = Array.from({ length: 3000 }, (_, i) => `task-${i}`)
      await Promise.all(tasks.map((task, i) => record(store, task, BigInt(i + 1), i % 2 === 0)))
      expect(store.counts().tasks).toBe(tasks.length)
      await kill()
      const reopened = await here.open()
      const marks = await Promise.all(tasks.map((task) => markOf(reopened, task)))
      const expected = tasks.map((_, i) => ({ token: BigInt(i + 1), complete: i % 2 === 0, recorded: true }))
      expect(marks).toEqual(expected)
      expect(reopened.counts().tasks).toBe(tasks.length)
      await reopened.close(true)
    })

    test('the commit sequence rises with each commit, and goes on after a restart', async () => {
      const here = place(0n)
      const store = await here.open()
      await record(store, 'a', 1n, true)
      const first = store.counts()
      await record(store, 'a', 2n, true)
      const second = store.counts()
      await markOf(store, 'a')
      expect(store.counts()).toEqual(second)
      expect(first).toMatchObject({ tasks: 1, commitSequence: 1 })
      expect(second).toMatchObject({ tasks: 1, commitSequence: 2 })
      await store.close(true)
      const reopened = await here.open()
      expect(reopened.counts()).toEqual(second)
      await record(reopened, 'b', 1n, true)
      expect(reopened.counts()).toMatchObject({ tasks: 2, commitSequence: 3 })
      await reopened.close(true)
    })

    test('origin tells whether this start made the store, and when it was made', async () => {
      const here = place(0n)
      const store = await here.open()
      expect(store.origin.created).toBe(true)
      await store.close(true)
      const reopened = await here.open()
      expect(reopened.origin).toEqual({ ...store.origin, created: false })
      await reopened.close(true)
    })

    test('a clean close, a close that was not clean and a kill are told apart', async () => {
      const here = place(0n)
      await (await here.open()).close(true)
      const afterClean = await here.open()
      expect(afterClean.origin.unclean).toBe(false)
      await afterClean.close(false)
      const afterUnclean = await here.open()
      expect(afterUnclean.origin.unclean).toBe(true)
      await afterUnclean.close(true)
      const { store, kill } = await here.openToKill()
      expect(store.origin.unclean).toBe(false)
      await kill()
      const again = await here.openToKill()
      expect(again.store.origin.unclean).toBe(true)
      await again.kill()
      const afterTwoKills = await here.open()
      expect(afterTwoKills.origin.unclean, 'a kill during grace').toBe(true)
      await afterTwoKills.close(true)
    })

    test('what was asked for before close is answered; after it nothing is taken', async () => {
      const here = place(0n)
      const store = await here.open()
      const [recorded, load] = [record(store, 'k', 9n, true), store.load('other')]
      await store.close(true)
      await expect(recorded).resolves.toBeUndefined()
      await expect(load).resolves.toMatchObject({ mark: { recorded: false } })
      await expect(record(store, 'k', 10n, true)).rejects.toThrow('closed')
      await expect(store.load('k')).rejects.toThrow('closed')
      const reopened = await here.open()
      expect(await markOf(reopened, 'k')).toMatchObject({ token: 9n })
      await reopened.close(true)
    })

    test('close may be called again, also at the same time', async () => {
      const store = await place(0n).open()
      await Promise.all([store.close(true), store.close(true)])
      await store.close(true)
    })

    test('a second opener is refused after lockWait, and the first is not disturbed', async () => {
      const here = place(0n)
      const store = await here.open()
      await record(store, 'k', 8n, true)
      await expect(here.open({ lockWaitMs: 50 })).rejects.toMatchObject({ exitCode: EXIT.unavailable })
      await expect(here.open({ lockWaitMs: 50 })).rejects.toThrow(/locked/)
      await record(store, 'k', 9n, true)
      expect(await markOf(store, 'k')).toMatchObject({ token: 9n })
      await store.close(true)
    })

    test('a second opener waits for a lock that is let go of in time', async () => {
      const here = place(0n)
      const store = await here.open()
      await record(store, 'k', 8n, true)
      const waiting = here.open({ lockWaitMs: 20_000 })
      // Others come and go meanwhile; one that did not wait would have been refused before them.
      for (let i = 0; i < 3; i++) await expect(here.open({ lockWaitMs: 0 })).rejects.toThrow(/locked/)
      await record(store, 'k', 9n, true)
      await store.close(true)
      const second = await waiting
      expect(second.origin.unclean).toBe(false)
      expect(await markOf(second, 'k')).toMatchObject({ token: 9n })
      await second.close(true)
    })

    test('a killed holder’s lock goes with it', async () => {
      const here = place(0n)
      const { kill } = await here.openToKill()
      await expect(here.open({ lockWaitMs: 20 })).rejects.toMatchObject({ exitCode: EXIT.unavailable })
      await kill()
      await (await here.open({ lockWaitMs: 20 })).close(true)
    })
  })
}
