/**
 * At which token a task starts that has no mark: the store's floor, or that of a prefix of its name if that is higher.
 * Invariant: no floor ever goes down. There are few, so they are kept in memory.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Token } from '../token.ts'

export interface PrefixFloor {
  readonly prefix: string
  readonly floor: Token
}

export class FloorTable {
  /** Of tasks under no prefix with a floor. */
  readonly lowest: Token
  readonly #select: StatementSync
  readonly #raise: StatementSync
  #floors: readonly PrefixFloor[] = []

  constructor(db: DatabaseSync, lowest: Token) {
    this.lowest = lowest
    this.#select = db.prepare('SELECT prefix, floor FROM floors ORDER BY prefix')
    this.#select.setReadBigInts(true)
    this.#raise = db.prepare(
      'INSERT INTO floors VALUES (?, ?) ON CONFLICT (prefix) DO UPDATE SET floor = max(floor, excluded.floor)',
    )
    this.reload()
  }

  /** By prefix. */
  get all(): readonly PrefixFloor[] {
    return this.#floors
  }

  of(task: string): Token {
    let highest = this.lowest
    for (const { prefix, floor } of this.#floors) {
      if (floor > highest && task.startsWith(prefix)) highest = floor
    }
    return highest
  }

  raise(prefix: string, floor: Token): void {
    if (floor === 0n) return
    this.#raise.run(prefix, floor)
    this.reload()
  }

  /** What is in memory is what is in the table: to be called when a transaction that raised one was rolled back. */
  reload(): void {
    this.#floors = this.#select.all() as unknown as PrefixFloor[]
  }
}
