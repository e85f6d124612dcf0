/**
 * The marks in SQLite: one transaction a batch, and what its failure means.
 *
 * Invariants: a token never goes down; `commit_sequence` rises with each batch; nothing is reported recorded
 * before COMMIT has returned, which under `synchronous=FULL` is after the fsync.
 */
import type { StatementSync } from 'node:sqlite'
import type { Token } from '../token.ts'
import type { Mark, StoreCounts } from './mark-store.ts'
import type { RecordRequest } from './messages.ts'
import type { OpenStore } from './store-file.ts'

/** SQLite's primary result code for a full disk, quota or page limit. */
const SQLITE_FULL = 13

/** A commit that failed with nothing changed: SQLite has rolled it back. */
export class RolledBackError extends Error {
  override readonly name = 'RolledBackError'
}

export class MarkTable {
  readonly #store: OpenStore
  readonly #select: StatementSync
  readonly #update: StatementSync
  readonly #insert: StatementSync
  readonly #advance: StatementSync
  #counts: StoreCounts

  constructor(store: OpenStore) {
    const { db } = store
    this.#store = store
    this.#select = db.prepare('SELECT token, complete FROM marks WHERE task = ?')
    this.#select.setReadBigInts(true)
    this.#update = db.prepare(
      'UPDATE marks SET token = ?2, complete = ?3 ' +
        'WHERE task = ?1 AND (token < ?2 OR (token = ?2 AND complete <= ?3))',
    )
    this.#insert = db.prepare('INSERT INTO marks VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING')
    this.#advance = db.prepare('UPDATE meta SET commit_sequence = commit_sequence + 1')
    this.#counts = store.counts
  }

  get counts(): StoreCounts {
    return this.#counts
  }

  load(task: string): Mark {
    const row = this.#select.get(task)
    if (!row) return { token: this.#store.floor, complete: false, recorded: false }
    return { token: row.token as Token, complete: row.complete === 1n, recorded: true }
  }

  /**
   * Commits all of the batch or nothing of it. Throws {@link RolledBackError} if the disk is full; anything
   * else that it throws leaves unknown what is stored.
   */
  commit(batch: readonly RecordRequest[]): void {
    const { db } = this.#store
    let newTasks = 0
    try {
      db.exec('BEGIN IMMEDIATE')
      for (const { task, token, complete } of batch) {
        const flag = complete ? 1 : 0
        if (this.#update.run(task, token, flag).changes === 0) {
          newTasks += Number(this.#insert.run(task, token, flag).changes)
        }
      }
      this.#advance.run()
      db.exec('COMMIT')
    } catch (error) {
      if (!isFull(error)) throw error
      if (db.isTransaction) db.exec('ROLLBACK')
      throw new RolledBackError('the disk that holds the marks is full', { cause: error })
    }
    const { tasks, commitSequence } = this.#counts
    this.#counts = { tasks: tasks + newTasks, commitSequence: commitSequence + 1 }
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
