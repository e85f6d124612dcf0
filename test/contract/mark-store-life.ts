/** The part of the contract on a store's long life: its tasks in pages, idle marks and floors, resets, backups. */
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../src/journal/entries.ts'
import type { Page, TasksQuery } from '../../src/journal/queries.ts'
import type { Change, MarkStore } from '../../src/store/mark-store.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { markChange, markOf, TIMED_OUT, writeRecord } from '../support/store-changes.ts'
import { allPages, resolved } from '../support/store-operations.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import type { Place } from './mark-store.ts'

const frozen = (task: string, on = true): Change => ({ kind: 'frozen', task, frozen: on })
const unknown = (id: string, task: string): Change => {
  return { kind: 'unknown', write: writeRecord(id, { task }), end: TIMED_OUT }
}
const floor = (prefix: string, floor: bigint): Change => ({ kind: 'floor', prefix, floor })

/** Beyond any doubt of a clock: what was used is idle by then, and what was not yet made was not. */
const HOUR_MS = 3_600_000
const soon = () => Date.now() + HOUR_MS
const before = () => Date.now() - HOUR_MS

const retired = (tasks: string[], floor: bigint, beforeMs = soon()): Change => {
  return { kind: 'retired', tasks, beforeMs, floor }
}

async function all<T>(read: (after: string) => Promise<Page<T, string>>): Promise<T[]> {
  const rows: T[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: Page<T, string> = await read(after)
    rows.push(...page.rows)
    after = page.next
  }
  return rows
}

const idle = async (store: MarkStore, prefix: string, beforeMs = soon()) => {
  const pages = await Promise.all(
    [1, 2, 99].map((limit) => all((after) => store.idle({ prefix, beforeMs, limit, after }))),
  )
  expect(pages[0]).toEqual(pages[2])
  expect(pages[1]).toEqual(pages[2])
  return pages[2]?.map(({ task, token }) => `${task} ${token}`)
}

export function lifeContract(name: string, place: (floor: bigint) => Place): void {
  describe(`long life of a mark store: ${name}`, () => {
    test('tasks are listed by name: those with a mark and those that are only frozen', async () => {
      const store = await place(7n).open()
      await store.commit([
        markChange('b', MAX_TOKEN, true, 'worker-1'),
        ...['a/2', 'a/10', 'A', "o'%_\\"].map((task) => markChange(task, 8n, false)),
        ...['b', 'only frozen', 'thawed'].map((task) => frozen(task)),
        frozen('thawed', false),
        floor('only', 9n),
      ])
      const names = async (query: Omit<TasksQuery, 'limit' | 'after'> = {}) => {
        const [one, two, many] = await Promise.all(
          [1, 2, 99].map((limit) => all((after) => store.tasks({ ...query, limit, after }))),
        )
        expect(one).toEqual(many)
        expect(two).toEqual(many)
        return many?.map(({ task }) => task)
      }
      expect(await names()).toEqual(['A', 'a/10', 'a/2', 'b', "o'%_\\", 'only frozen'])
      expect(await names({ search: 'a' })).toEqual(['a/10', 'a/2'])
      expect(await names({ search: '%_' })).toEqual(["o'%_\\"])
      expect(await names({ search: 'nothing' })).toEqual([])
      expect(await names({ frozen: true })).toEqual(['b', 'only frozen'])
      expect(await names({ frozen: true, search: 'only' })).toEqual(['only frozen'])
      expect(await names({ frozen: false, search: 'a' })).toEqual(['a/10', 'a/2'])
      const [b, , onlyFrozen] = (await store.tasks({ limit: 9, after: 'a/2' })).rows
      const usedAtMs = expect.any(Number)
      const marked = { token: MAX_TOKEN, complete: true, recorded: true, holder: 'worker-1', usedAtMs }
      expect(b).toEqual({ task: 'b', ...marked, frozen: true })
      const bare = { token: 9n, complete: false, recorded: false, holder: undefined, usedAtMs: undefined }
      expect(onlyFrozen).toEqual({ task: 'only frozen', ...bare, frozen: true })
      await store.close(true)
    })

    test('a mark was used when it was raised or settled, and when somebody notes it', async () => {
      const here = place(0n)
      const store = await here.open()
      const started = Date.now()
      await store.commit([markChange('k', 8n, false), markChange('other', 8n, true)])
      const usedAtMs = async (from: MarkStore, task: string) =>
        (await from.tasks({ search: task, limit: 9, after: '' })).rows[0]?.usedAtMs ?? 0
      expect(Math.abs((await usedAtMs(store, 'k')) - started)).toBeLessThan(HOUR_MS)
      const { commitSequence } = store.counts()
      const later = Date.now() + 2 * HOUR_MS
      await store.commit([{ kind: 'used', tasks: ['k', 'unheard of'], atMs: later }])
      await store.commit([{ kind: 'used', tasks: ['k'], atMs: 1_000 }])
      expect(store.counts()).toMatchObject({ commitSequence, tasks: 2 })
      await store.commit([markChange('k', 9n, true)])
      await store.close(true)
      const reopened = await here.open()
      expect(Math.abs((await usedAtMs(reopened, 'k')) - later), 'never earlier').toBeLessThan(1_000)
      expect(await markOf(reopened, 'unheard of')).toMatchObject({ recorded: false })
      expect(await idle(reopened, '')).toEqual(['other 8'])
      await reopened.close(true)
    })

    test('idle marks are those under the prefix, unused, thawed and with nothing unresolved', async () => {
      const store = await place(0n).open()
      const names = ['day', 'day/', 'day/1', 'day/2', 'day/3', 'day/4', 'day/5', 'day0', 'Day/1']
      await store.commit(names.map((task, i) => markChange(task, BigInt(i + 1), true)))
      await store.commit([
        frozen('day/2'),
        { kind: 'intent', write: writeRecord('open', { task: 'day/3' }) },
        unknown('1', 'day/4'),
        unknown('2', 'day/5'),
        resolved('2', 'applied'),
      ])
      expect(await idle(store, 'day/')).toEqual(['day/ 2', 'day/1 3', 'day/5 7'])
      expect(await idle(store, 'day/', before())).toEqual([])
      expect(await idle(store, 'day/6')).toEqual([])
      await store.close(true)
    })

    test('a floor is of a prefix, of which the highest counts, and never goes down', async () => {
      const here = place(5n)
      const store = await here.open()
      await store.commit([markChange('day/2', 7n, true)])
      await store.commit([floor('day/', 9n), floor('day/1', 4n), floor('', 6n), floor('zero', 0n)])
      await store.commit([floor('day/', 8n)])
      const floors = [
        { prefix: '', floor: 6n },
        { prefix: 'day/', floor: 9n },
        { prefix: 'day/1', floor: 4n },
      ]
      expect(await store.state()).toMatchObject({ floor: 5n, floors })
      await store.close(true)
      const reopened = await here.open()
      expect(await reopened.state()).toMatchObject({ floor: 5n, floors })
      const tokens = ['day/1', 'day/10', 'day', 'other'].map(
        async (task) => (await markOf(reopened, task)).token,
      )
      expect(await Promise.all(tokens)).toEqual([9n, 9n, 6n, 6n])
      const below = { token: 7n, recorded: true, complete: true }
      expect(await markOf(reopened, 'day/2'), 'what has a mark is not concerned').toMatchObject(below)
      await reopened.close(true)
    })

    test('a mark is retired only if it is idle still, and the floor is as high', async () => {
      const here = place(0n)
      const { store, kill } = await here.openToKill()
      const names = ['d/idle', 'd/high', 'd/frozen', 'd/open', 'd/unknown', 'no floor']
      await store.commit(
        names.map((task) => markChange(task, task === 'd/high' ? 10n : 9n, true, 'worker-1')),
      )
      await store.commit([
        frozen('d/frozen'),
        { kind: 'intent', write: writeRecord('open', { task: 'd/open' }) },
        unknown('1', 'd/unknown'),
      ])
      await store.commit([floor('d/', 9n)])
      await store.commit([retired(names, MAX_TOKEN, before())])
      expect(store.counts().tasks, 'used since').toBe(6)
      await store.commit([retired(['d/idle'], 8n)])
      expect(store.counts().tasks, 'above the floor given').toBe(6)
      await store.commit([retired([...names, 'unheard of'], MAX_TOKEN)])
      expect(store.counts().tasks).toBe(5)
      await store.commit([retired(names, MAX_TOKEN)])
      await kill()
      const reopened = await here.open()
      const left = await all((after) => reopened.tasks({ limit: 99, after }))
      expect(left.map(({ task }) => task)).toEqual(names.slice(1).sort())
      const atFloor = { token: 9n, complete: false, recorded: false, holder: undefined }
      expect(await markOf(reopened, 'd/idle')).toEqual(atFloor)
      await reopened.commit([markChange('d/idle', 8n, true)])
      expect(await markOf(reopened, 'd/idle'), 'a raise below the floor').toEqual(atFloor)
      await reopened.commit([markChange('d/idle', 9n, true)])
      expect(reopened.counts().tasks).toBe(6)
      await reopened.close(true)
    })

    test('a reset sets a mark lower, only while the task is frozen and nothing is unresolved', async () => {
      const here = place(0n)
      const store = await here.open()
      const reset = (to: bigint): Change => ({ kind: 'reset', task: 'k', to })
      const poisoned = { token: MAX_TOKEN, complete: false, holder: 'worker-1' }
      await store.commit([markChange('k', MAX_TOKEN, false, 'worker-1'), reset(5n)])
      expect(await markOf(store, 'k')).toMatchObject(poisoned)
      await store.commit([frozen('k'), { kind: 'intent', write: writeRecord('open') }, reset(5n)])
      expect(await markOf(store, 'k'), 'with an open write').toMatchObject(poisoned)
      await store.commit([{ kind: 'ended', id: 'open' }, unknown('1', 'k'), reset(5n)])
      expect(await markOf(store, 'k'), 'with an unknown one').toMatchObject(poisoned)
      await store.commit([resolved('1', 'applied'), reset(5n), { kind: 'reset', task: 'unheard of', to: 5n }])
      const expected = { token: 5n, complete: true, recorded: true, holder: undefined }
      expect(await markOf(store, 'k')).toEqual(expected)
      await store.commit([reset(6n)])
      expect(await markOf(store, 'k'), 'it raises nothing').toEqual(expected)
      await store.close(true)
      const reopened = await here.open()
      expect(await reopened.load('k')).toEqual({ mark: expected, frozen: true, held: [] })
      expect(reopened.counts().tasks).toBe(1)
      await reopened.close(true)
    })

    test('the journal is read from its end too, and by kind', async () => {
      const store = await place(0n).open()
      const entry = (atMs: number, task: string, kind: JournalEntry['kind']): JournalEntry => {
        return { atMs, kind, task, token: undefined, data: {} }
      }
      const entries = [1, 2, 3, 4, 5, 6].map((i) =>
        entry(i, i % 2 ? 'odd' : 'even', i % 3 ? 'handover' : 'rejection'),
      )
      await store.commit([{ kind: 'journal', entries }])
      expect(store.counts()).toMatchObject({ lastEntry: 6, commitSequence: 0 })
      const details = { from: MAX_TOKEN, breaks: 'P1' }
      const act = {
        kind: 'reset',
        task: undefined,
        token: undefined,
        by: 'ops',
        reason: 'why',
        details,
      } as const
      await store.commit([{ kind: 'act', act: { ...act, atMs: 7 } }])
      const read = async (query: {
        task?: string
        kind?: JournalEntry['kind']
        order?: 'newest' | 'oldest'
      }) => {
        const pages = [1, 2, 99].map((limit) =>
          allPages((after) => store.journal({ ...query, limit, after })),
        )
        const [one, two, many] = await Promise.all(pages)
        expect(one).toEqual(many)
        expect(two).toEqual(many)
        return many?.map(({ seq }) => seq).join('')
      }
      expect(await read({})).toBe('1234567')
      expect(await read({ order: 'newest' })).toBe('7654321')
      expect(await read({ kind: 'rejection' })).toBe('36')
      expect(await read({ kind: 'rejection', order: 'newest' })).toBe('63')
      expect(await read({ task: 'even', order: 'newest' })).toBe('642')
      expect(await read({ task: 'odd', kind: 'handover', order: 'newest' })).toBe('51')
      expect(await read({ task: 'odd', kind: 'dropped' })).toBe('')
      const newest = await store.journal({ order: 'newest', limit: 1, after: 0 })
      const data = { act: 'reset', by: 'ops', reason: 'why', from: String(MAX_TOKEN), breaks: 'P1' }
      expect(newest).toMatchObject({ rows: [{ kind: 'act', task: undefined, data }], next: 7 })
      await store.close(true)
    })

    test('a resolved write is forgotten with its age, an unresolved one never', async () => {
      const store = await place(0n).open()
      await store.commit([unknown('kept', 'k'), unknown('1', 'k'), resolved('1', 'applied')]) // At 3000.
      await store.prune({ nowMs: 3_999, maxAgeMs: 1_000, maxRows: 99 })
      expect(await store.unknownWrite('1')).toMatchObject({ resolution: 'applied' })
      await store.prune({ nowMs: 4_000, maxAgeMs: 1_000, maxRows: 99 })
      expect(await store.unknownWrite('1')).toBeUndefined()
      await store.commit([resolved('1', 'not-applied')])
      expect(await store.unresolved(9)).toMatchObject([{ id: 'kept' }])
      expect(store.counts().unresolved).toBe(1)
      await store.close(true)
    })

    test('a backup tells the commit that it ends with, and is never put over another file', async () => {
      const store = await place(0n).open()
      const file = path.join(temporaryDirectory(), 'backup.db')
      await store.commit([markChange('k', 8n, true)])
      const report = await store.backup(file)
      expect(report).toEqual({ bytes: expect.any(Number), commitSequence: 1 })
      await store.commit([markChange('k', 9n, true)])
      await expect(store.backup(file)).rejects.toMatchObject({
        name: 'BackupRefused',
        message: expect.stringContaining(`${file} exists already`),
      })
      await store.commit([markChange('k', 10n, true)])
      await store.close(true)
      await expect(store.backup(`${file}.2`)).rejects.toThrow('closed')
      await expect(store.tasks({ limit: 1, after: '' })).rejects.toThrow('closed')
    })
  })
}
