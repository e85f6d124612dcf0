/**
 * The store's tables behind one transaction a batch, and what its failure means.
 *
 * Invariants: `commit_sequence` rises with each batch; nothing is reported durable before COMMIT has
 * returned, which under `synchronous=FULL` is after the fsync.
 */
import type { StatementSync } from 'node:sqlite'
import type { UnknownWrite } from '../journal/records.ts'
import type { Change, StoreCounts, TaskRecord } from './mark-store.ts'
import { MarkTable } from './mark-table.ts'
import type { OpenStore } from './store-file.ts'
import { WriteTable } from './write-table.ts'

/** SQLite's primary result code for a full disk, quota or page limit. */
const SQLITE_FULL = 13

/** A commit that failed with nothing changed: SQLite has rolled it back. */
export class RolledBackError extends Error {
  override readonly name = 'RolledBackError'
}

type Counted = Exclude<keyof StoreCounts, 'commitSequence'>

export class StoreTables {
  readonly #store: OpenStore
  readonly #marks: MarkTable
  readonly #writes: WriteTable
  readonly #advance: StatementSync
  #counts: StoreCounts

  constructor(store: OpenStore) {
    const { db } = store
    this.#store = store
    this.#marks = new MarkTable(db, store.floor)
    this.#writes = new WriteTable(db)
    this.#writes.endOpenIntents()
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

  /**
   * Commits all of the batch or nothing of it. Throws {@link RolledBackError} if the disk is full; anything
   * else that it throws leaves unknown what is stored.
   */
  commit(batch: Iterable<Change>): void {
    const { db } = this.#store
    this.#store.requireInPlace()
    const counts = { ...this.#counts }
    try {
      db.exec('BEGIN IMMEDIATE')
      for (const change of batch) {
        const [counted, by] = this.#apply(change)
        counts[counted] += by
      }
      this.#advance.run()
      db.exec('COMMIT')
    } catch (error) {
      if (!isFull(error)) throw error
      if (db.isTransaction) db.exec('ROLLBACK')
      throw new RolledBackError('the disk that holds the store is full', { cause: error })
    }
    this.#counts = { ...counts, commitSequence: counts.commitSequence + 1 }
  }

  /** Applies one change; returns what it added to which count. */
  #apply(change: Change): [Counted, number] {
    switch (change.kind) {
      case 'mark':
        return ['tasks', this.#marks.raise(change.task, change.token, change.complete, change.holder)]
      case 'frozen':
        return ['frozen', this.#marks.setFrozen(change.task, change.frozen)]
      case 'unknown':
        return ['unresolved', this.#writes.unknown(change.write, change.end)]
      case 'resolved':
        return ['unresolved', -this.#writes.resolve(change)]
      case 'intent':
        this.#writes.intend(change.write)
        return ['unresolved', 0]
      case 'ended':
        this.#writes.ended(change.id)
        return ['unresolved', 0]
      case 'without-intents':
        this.#store.db.exec('UPDATE meta SET intents_complete = 0')
        return ['unresolved', 0]
      case 'act':
        this.#writes.act(change.act)
        return ['unresolved', 0]
    }
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
