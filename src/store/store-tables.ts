/**
 * The store's tables behind one transaction a batch, and what its failure means.
 *
 * Invariants: `commit_sequence` rises with each batch; nothing is reported durable before COMMIT has
 * returned, which under `synchronous=FULL` is after the fsync.
 */
import type { StatementSync } from 'node:sqlite'
import type { ListedEntry } from '../journal/entries.ts'
import type { ListedAttempt, ListedOperation, OperationRecord } from '../journal/operations.ts'
import type {
  AttemptsQuery,
  IdleQuery,
  IdleTask,
  JournalQuery,
  ListedTask,
  OperationsQuery,
  Page,
  Pruned,
  PruneLimits,
  TasksQuery,
} from '../journal/queries.ts'
import type { UnknownWrite } from '../journal/records.ts'
import { FloorTable } from './floor-table.ts'
import { JournalTable } from './journal-table.ts'
import type { Change, StoreCounts, StoreState, TaskRecord } from './mark-store.ts'
import { MarkTable } from './mark-table.ts'
import { OperationLists } from './operation-lists.ts'
import { OperationTable } from './operation-table.ts'
import { Retention } from './retention.ts'
import { RetentionClock } from './retention-clock.ts'
import { SCHEMA_VERSION } from './schema.ts'
import type { OpenStore } from './store-file.ts'
import { TaskLists } from './task-lists.ts'
import { WriteTable } from './write-table.ts'

/** SQLite's primary result code for a full disk, quota or page limit. */
const SQLITE_FULL = 13

/** A commit that failed with nothing changed: SQLite has rolled it back. */
export class RolledBackError extends Error {
  override readonly name = 'RolledBackError'
}

type Counted = Exclude<keyof StoreCounts, 'commitSequence' | 'lastEntry'>
type CountedChange = Extract<Change, { kind: 'mark' | 'retired' | 'frozen' | 'unknown' | 'resolved' }>

const UNCOUNTED: readonly [Counted, number] = ['unresolved', 0]
const NOTHING_PRUNED: Pruned = { entries: 0, operations: 0, attempts: 0, more: false }

/**
 * Whether it is a step of the store. What only tells of the past is none: a store that was rolled back must not hide
 * behind it, and a full disk may refuse it alone.
 */
export function isStep({ kind }: Change): boolean {
  return kind !== 'journal' && kind !== 'used'
}

export class StoreTables {
  readonly #store: OpenStore
  readonly #clock: RetentionClock
  readonly #floors: FloorTable
  readonly #tasks: TaskLists
  readonly #marks: MarkTable
  readonly #writes: WriteTable
  readonly #operations: OperationTable
  readonly #lists: OperationLists
  readonly #journal: JournalTable
  readonly #retention: Retention
  readonly #advance: StatementSync
  #counts: StoreCounts

  constructor(store: OpenStore, clock = new RetentionClock(store.latestMs)) {
    const { db } = store
    this.#store = store
    this.#clock = clock
    this.#floors = new FloorTable(db, store.floor)
    this.#marks = new MarkTable(db, this.#floors, clock)
    this.#tasks = new TaskLists(db, this.#floors, clock)
    this.#writes = new WriteTable(db, clock)
    this.#operations = new OperationTable(db, clock)
    this.#lists = new OperationLists(db)
    this.#journal = new JournalTable(db)
    this.#retention = new Retention(db)
    const nowMs = Date.now()
    this.#transaction(() => {
      this.#writes.endOpenIntents(nowMs)
      this.#operations.endOpenAttempts(nowMs)
    })
    this.#advance = db.prepare('UPDATE meta SET commit_sequence = commit_sequence + 1')
    this.#counts = store.counts
  }

  get counts(): StoreCounts {
    return this.#counts
  }

  load(task: string): TaskRecord {
    return {
      mark: this.#marks.get(task),
      frozen: this.#marks.isFrozen(task),
      held: this.#writes.held(task),
    }
  }

  unresolved(limit: number, task?: string): UnknownWrite[] {
    return this.#writes.unresolved(limit, task)
  }

  unknownWrite(id: string): UnknownWrite | undefined {
    return this.#writes.one(id)
  }

  operation(id: string): OperationRecord | undefined {
    return this.#operations.one(id)
  }

  operations(query: OperationsQuery): Page<ListedOperation> {
    return this.#lists.operations(query)
  }

  attempts(query: AttemptsQuery): Page<ListedAttempt> {
    return this.#lists.attempts(query)
  }

  journal(query: JournalQuery): Page<ListedEntry> {
    return this.#journal.list(query)
  }

  tasks(query: TasksQuery): Page<ListedTask, string> {
    return this.#tasks.tasks(query)
  }

  idle(query: IdleQuery): Page<IdleTask, string> {
    return this.#tasks.idle(query)
  }

  state(): StoreState {
    return {
      ...this.#store.sizes(),
      schema: SCHEMA_VERSION,
      floor: this.#floors.lowest,
      floors: this.#floors.all,
    }
  }

  /**
   * Commits all of the batch or nothing of it. Throws {@link RolledBackError} if the disk is full; anything
   * else that it throws leaves unknown what is stored.
   */
  commit(batch: Iterable<Change>): void {
    this.#store.requireInPlace()
    const counts = { ...this.#counts }
    let steps = 0
    this.#transaction(() => {
      for (const change of batch) {
        if (isStep(change)) steps = 1
        const [counted, by] = this.#apply(change)
        counts[counted] += by
      }
      if (steps > 0) this.#advance.run()
    })
    const lastEntry = this.#journal.last
    this.#counts = { ...counts, commitSequence: counts.commitSequence + steps, lastEntry }
  }

  /** Forgets nothing if the disk is too full even for that. */
  prune(limits: PruneLimits): Pruned {
    this.#store.requireInPlace()
    try {
      const nowMs = this.#clock.believe(limits.nowMs)
      return this.#transaction(() => this.#retention.prune({ ...limits, nowMs }))
    } catch (error) {
      if (!(error instanceof RolledBackError)) throw error
      return NOTHING_PRUNED
    }
  }

  #transaction<T>(work: () => T): T {
    const { db } = this.#store
    try {
      db.exec('BEGIN IMMEDIATE')
      const result = work()
      db.exec('COMMIT')
      return result
    } catch (error) {
      if (!isFull(error)) throw error
      if (db.isTransaction) db.exec('ROLLBACK')
      this.#floors.reload()
      throw new RolledBackError('the disk that holds the store is full', { cause: error })
    }
  }

  /** Applies one change; returns what it added to which count. */
  #apply(change: Change): readonly [Counted, number] {
    switch (change.kind) {
      case 'mark':
        return ['tasks', this.#marks.raise(change.task, change.token, change.complete, change.holder)]
      case 'retired':
        return ['tasks', -this.#marks.retire(change)]
      case 'frozen':
        return ['frozen', this.#marks.setFrozen(change.task, change.frozen)]
      case 'unknown':
        return ['unresolved', this.#writes.unknown(change.write, change.end)]
      case 'resolved':
        return ['unresolved', -this.#resolve(change)]
      default:
        this.#note(change)
        return UNCOUNTED
    }
  }

  /** Applies a change that no count tells of. */
  #note(change: Exclude<Change, CountedChange>): void {
    switch (change.kind) {
      case 'intent':
        return this.#writes.intend(change.write)
      case 'ended':
        return this.#writes.ended(change.id)
      case 'attempt':
        return this.#operations.attempt(change.attempt)
      case 'attempt-ended':
        return this.#operations.ended(change.id, change.end)
      case 'erase-bodies':
        return this.#operations.eraseBodies(change.task)
      case 'journal':
        return change.entries.forEach((entry) => {
          this.#journal.add(entry)
        })
      case 'used':
        return this.#marks.use(change.tasks, change.atMs)
      case 'reset':
        return this.#marks.reset(change.task, change.to)
      case 'floor':
        return this.#floors.raise(change.prefix, change.floor)
      case 'act':
        return this.#journal.act(change.act)
      case 'without-intents':
        return this.#store.db.exec('UPDATE meta SET intents_complete = 0')
    }
  }

  /** Returns how many unresolved writes it removed: 0 or 1. */
  #resolve(change: Extract<Change, { kind: 'resolved' }>): number {
    const removed = this.#writes.resolve(change)
    if (removed > 0) {
      this.#operations.resolved(change.id, change.resolution)
      this.#journal.resolved(change)
    }
    return removed
  }

  /** Moves the WAL into the database. A full disk leaves it for later; anything else throws. */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): void {
    try {
      this.#store.db.exec(`PRAGMA wal_checkpoint(${mode})`)
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }

  close(clean: boolean): void {
    this.checkpoint('TRUNCATE') // First, as it gives back the room that the record of a clean stop needs.
    if (clean) this.#recordCleanStop()
    this.#store.close()
  }

  /** On a full disk it can't be recorded; the next start then waits out its grace. */
  #recordCleanStop(): void {
    try {
      this.#store.db.exec('UPDATE meta SET clean_stop = 1')
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }
}

function isFull(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_FULL
}
