/**
 * What the record forgets, and when: journal entries by age and number; resolved writes, of which the journal tells too,
 * by age; operations, with their attempts, when their time is over, and of too many those whose provider can't know their
 * key any more.
 *
 * Invariants: a write that is unresolved stays, and an operation that is open or unknown, or has an attempt that is, stays; so does the newest record of each
 * kind, so that no `seq` is used twice. Each call does a bounded part.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Pruned, PruneLimits } from '../journal/queries.ts'
import { FINISHED, UNSETTLED } from './schema.ts'

/** Journal entries, resolved writes, operations, and attempts of them that one call forgets, at most. */
const ENTRIES = 1000
const WRITES = 1000
const OPERATIONS = 250
const ATTEMPTS = 1000
/** Operations that are looked at, of too many, for one whose key is forgotten. */
const LOOKED_AT = 1000

export class Retention {
  readonly #entries: StatementSync
  readonly #writes: StatementSync
  readonly #span: StatementSync
  readonly #count: StatementSync
  readonly #expired: StatementSync
  readonly #nextToExpire: StatementSync
  readonly #attempts: StatementSync
  readonly #operations: StatementSync

  constructor(db: DatabaseSync) {
    const front = `FROM (SELECT seq, at_ms FROM journal ORDER BY seq LIMIT ${ENTRIES})`
    // None is older than one before it, whatever the clock said.
    this.#entries = db.prepare(
      `DELETE FROM journal WHERE seq IN (SELECT seq ${front}) AND seq < (SELECT max(seq) FROM journal) ` +
        `AND (seq < coalesce((SELECT min(seq) ${front} WHERE at_ms > ?1), 9e18) ` +
        'OR seq <= (SELECT max(seq) FROM journal) - ?2)',
    )
    this.#writes = db.prepare(
      'DELETE FROM writes WHERE rowid IN (SELECT rowid FROM writes ' +
        `WHERE resolution IS NOT NULL AND resolved_at_ms <= ?1 ORDER BY resolved_at_ms LIMIT ${WRITES})`,
    )
    this.#span = db.prepare(
      'SELECT (SELECT max(seq) FROM operations) - (SELECT min(seq) FROM operations) + 1 AS span',
    )
    this.#count = db.prepare('SELECT count(*) AS count FROM operations')
    const mayGo =
      `FROM operations WHERE ${FINISHED} ` +
      `AND NOT EXISTS (SELECT 1 FROM attempts WHERE operation = operations.seq AND ${UNSETTLED}) ` +
      'AND seq <> (SELECT max(seq) FROM operations) ' +
      'AND seq <> (SELECT operation FROM attempts ORDER BY seq DESC LIMIT 1)'
    this.#expired = db.prepare(`SELECT seq ${mayGo} AND keep_until_ms <= ?1 ORDER BY keep_until_ms LIMIT ?2`)
    this.#nextToExpire = db.prepare(
      `SELECT seq FROM (SELECT seq, key_until_ms ${mayGo} ORDER BY keep_until_ms LIMIT ${LOOKED_AT}) ` +
        'WHERE key_until_ms <= ?1 LIMIT ?2',
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
    const writes = Number(this.#writes.run(nowMs - maxAgeMs).changes)
    const going = this.#goingOperations(nowMs, maxRows)
    const list = JSON.stringify(going)
    const attempts = Number(this.#attempts.run(list).changes)
    const operations = Number(this.#operations.run(list).changes)
    const more =
      entries === ENTRIES || writes === WRITES || going.length === OPERATIONS || operations < going.length
    return { entries, operations, attempts, more }
  }

  /** Those whose time is over; of too many, the next to expire too. */
  #goingOperations(nowMs: number, maxRows: number): number[] {
    const surplus = Math.min(this.#surplus(maxRows), OPERATIONS)
    const expired = this.#expired.all(nowMs, OPERATIONS)
    const going = surplus > expired.length ? this.#nextToExpire.all(nowMs, surplus) : expired
    return going.map(({ seq }) => seq as number)
  }

  #surplus(maxRows: number): number {
    const span = this.#span.get()?.span as number | null
    if (span === null || span <= maxRows) return 0 // Without counting them: gaps only make them fewer.
    return (this.#count.get()?.count as number) - maxRows
  }
}
