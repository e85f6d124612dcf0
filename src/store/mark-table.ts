/** Marks and freezes in SQLite. Invariant: a token never goes down, and at one token `complete` never ends. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Token } from '../token.ts'
import type { Mark } from './mark-store.ts'

export class MarkTable {
  readonly #floor: Token
  readonly #select: StatementSync
  readonly #update: StatementSync
  readonly #insert: StatementSync
  readonly #freeze: StatementSync
  readonly #thaw: StatementSync
  readonly #isFrozen: StatementSync

  constructor(db: DatabaseSync, floor: Token) {
    this.#floor = floor
    this.#select = db.prepare('SELECT token, complete, holder FROM marks WHERE task = ?')
    this.#select.setReadBigInts(true)
    this.#update = db.prepare(
      'UPDATE marks SET token = ?2, complete = ?3, holder = ?4 ' +
        'WHERE task = ?1 AND (token < ?2 OR (token = ?2 AND complete <= ?3))',
    )
    this.#insert = db.prepare('INSERT INTO marks VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING')
    this.#freeze = db.prepare('INSERT INTO frozen VALUES (?) ON CONFLICT DO NOTHING')
    this.#thaw = db.prepare('DELETE FROM frozen WHERE task = ?')
    this.#isFrozen = db.prepare('SELECT 1 FROM frozen WHERE task = ?')
  }

  get(task: string): Mark {
    const row = this.#select.get(task)
    if (!row) return { token: this.#floor, complete: false, recorded: false, holder: undefined }
    return {
      token: row.token as Token,
      complete: row.complete === 1n,
      recorded: true,
      holder: (row.holder as string | null) ?? undefined,
    }
  }

  /** Returns how many tasks got their first mark: 0 or 1. */
  raise(task: string, token: Token, complete: boolean, holder: string | undefined): number {
    const values = [task, token, complete ? 1 : 0, holder ?? null] as const
    if (this.#update.run(...values).changes !== 0) return 0
    return Number(this.#insert.run(...values).changes)
  }

  isFrozen(task: string): boolean {
    return this.#isFrozen.get(task) !== undefined
  }

  /** Returns by how many the frozen tasks changed: -1, 0 or 1. */
  setFrozen(task: string, frozen: boolean): number {
    const changed = Number((frozen ? this.#freeze : this.#thaw).run(task).changes)
    return frozen ? changed : -changed
  }
}
