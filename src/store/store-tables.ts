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
  JournalQuery,
  OperationsQuery,
  Page,
  Pruned,
  PruneLimits,
} from '../journal/queries.ts'
import type { UnknownWrite } from '../journal/records.ts'
import { JournalTable } from './journal-table.ts'
import type { Change, StoreCounts, TaskRecord } from './mark-store.ts'
import { MarkTable } from './mark-table.ts'
import { OperationLists } from './operation-lists.ts'
import { OperationTable } from './operation-table.ts'
import { Retention } from './retention.ts'
import type { OpenStore } from './store-file.ts'
import { WriteTable } from './write-table.ts'

/** SQLite's primary result code for a full disk, quota or page limit. */
const SQLITE_FULL = 13

/** A commit that failed with nothing changed: SQLite has rolled it back. */
export class RolledBackError extends Error {
  override readonly name = 'RolledBackError'
}

type Counted = Exclude<keyof StoreCounts, 'commitSequence'>

const UNCOUNTED: readonly [Counted, number] = ['unresolved', 0]
const NOTHING_PRUNED: Pruned = { entries: 0, operations: 0, attempts: 0, more: false }

export class StoreTables {
  readonly #store: OpenStore
  readonly #marks: MarkTable
  readonly #writes: WriteTable
  readonly #operations: OperationTable
  readonly #lists: OperationLists
  readonly #journal: JournalTable
  readonly #retention: Retention
  readonly #advance: StatementSync
  #counts: StoreCounts

  constructor(store: OpenStore) {
    const { db } = store
    this.#store = store
    this.#marks = new MarkTable(db, store.floor)
    this.#writes = new WriteTable(db)
    this.#operations = new OperationTable(db)
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

  unresolved(limit: number): UnknownWrite[] {
    return this.#writes.unresolved(limit)
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

  /**
   * Commits all of the batch or nothing of it. Throws {@link RolledBackError} if the disk is full; anything
   * else that it throws leaves unknown what is stored.
   */
  commit(batch: Iterable<Change>): void {
    this.#store.requireInPlace()
    const counts = { ...this.#counts }
    // What only tells of the past is no step forward: a store that was rolled back must not hide behind it.
    let steps = 0
    this.#transaction(() => {
      for (const change of batch) {
        if (change.kind !== 'journal') steps = 1
        const [counted, by] = this.#apply(change)
        counts[counted] += by
      }
      if (steps > 0) this.#advance.run()
    })
    this.#counts = { ...counts, commitSequence: counts.commitSequence + steps }
  }

  /** Forgets nothing if the disk is too full even for that. */
  prune(limits: PruneLimits): Pruned {
    this.#store.requireInPlace()
    try {
      return this.#transaction(() => this.#retention.prune(limits))
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
      throw new RolledBackError('the disk that holds the store is full', { cause: error })
    }
  }

  /** Applies one change; returns what it added to which count. */
  #apply(change: Change): readonly [Counted, number] {
    switch (change.kind) {
      case 'mark':
        return ['tasks', this.#marks.raise(change.task, change.token, change.complete, change.holder)]
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
  #note(change: Exclude<Change, { kind: 'mark' | 'frozen' | 'unknown' | 'resolved' }>): void {
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
      case 'act':
        this.#writes.act(change.act)
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
