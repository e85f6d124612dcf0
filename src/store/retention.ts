/**
 * What the record forgets, and when: journal entries by age and number; operations, with their attempts, by the same
 * limits once their provider can't know their key any more.
 *
 * Invariants: an operation that is open or unknown, or has an attempt that is, stays; so does the newest record of each
 * kind, so that no `seq` is used twice. Each call does a bounded part.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Pruned, PruneLimits } from '../journal/queries.ts'
import { FINISHED, UNSETTLED } from './schema.ts'

/** Journal entries, operations, and attempts of them that one call forgets, at most. */
const ENTRIES = 1000
const OPERATIONS = 250
const ATTEMPTS = 1000

export class Retention {
  readonly #entries: StatementSync
  readonly #span: StatementSync
  readonly #count: StatementSync
  readonly #expired: StatementSync
  readonly #attempts: StatementSync
  readonly #operations: StatementSync

  constructor(db: DatabaseSync) {
    this.#entries = db.prepare(
      `DELETE FROM journal WHERE seq IN (SELECT seq FROM journal ORDER BY seq LIMIT ${ENTRIES}) ` +
        'AND seq < (SELECT max(seq) FROM journal) ' +
        'AND (at_ms <= ?1 OR seq <= (SELECT max(seq) FROM journal) - ?2)',
    )
    this.#span = db.prepare(
      'SELECT (SELECT max(seq) FROM operations) - (SELECT min(seq) FROM operations) + 1 AS span',
    )
    this.#count = db.prepare('SELECT count(*) AS count FROM operations')
    this.#expired = db.prepare(
      `SELECT seq FROM operations WHERE ${FINISHED} AND keep_until_ms <= ?1 ` +
        `AND NOT EXISTS (SELECT 1 FROM attempts WHERE operation = operations.seq AND ${UNSETTLED}) ` +
        'AND seq <> (SELECT max(seq) FROM operations) ' +
        'AND seq <> (SELECT operation FROM attempts ORDER BY seq DESC LIMIT 1) ' +
        'ORDER BY keep_until_ms LIMIT ?2',
    )
    const named = 'IN (SELECT value FROM json_each(?1))'
    this.#attempts = db.prepare(
      `DELETE FROM attempts WHERE seq IN (SELECT seq FROM attempts WHERE operation ${named} LIMIT ${ATTEMPTS})`,
    )
    this.#operations = db.prepare(
      `DELETE FROM operations WHERE seq ${named} ` +
        'AND NOT EXISTS (SELECT 1 FROM attempts WHERE operation = operations.seq)',
    )
  }

  /** To be called in a transaction. */
  prune({ nowMs, maxAgeMs, maxRows }: PruneLimits): Pruned {
    const entries = Number(this.#entries.run(nowMs - maxAgeMs, maxRows).changes)
    const expired = this.#expiredOperations(nowMs, nowMs - maxAgeMs, maxRows)
    const list = JSON.stringify(expired)
    const attempts = Number(this.#attempts.run(list).changes)
    const operations = Number(this.#operations.run(list).changes)
    const more = entries === ENTRIES || expired.length === OPERATIONS || operations < expired.length
    return { entries, operations, attempts, more }
  }

  /** By age; and the first to expire of those that are too many, too. */
  #expiredOperations(nowMs: number, agedMs: number, maxRows: number): number[] {
    const before = (ms: number, limit: number) => this.#expired.all(ms, limit).map(({ seq }) => seq as number)
    const surplus = Math.min(this.#surplus(maxRows), OPERATIONS)
    const aged = before(agedMs, OPERATIONS)
    return surplus > aged.length ? before(nowMs, surplus) : aged
  }

  #surplus(maxRows: number): number {
    const span = this.#span.get()?.span as number | null
    if (span === null || span <= maxRows) return 0 // Without counting them: gaps only make them fewer.
    return (this.#count.get()?.count as number) - maxRows
  }
}
