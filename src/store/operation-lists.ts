/** Operations and attempts as they are listed, a page at a time. Changes nothing. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ListedAttempt, ListedOperation } from '../journal/operations.ts'
import type { AttemptsQuery, OperationsQuery, Page } from '../journal/queries.ts'
import type { Token } from '../token.ts'
import { toOperation } from './operation-table.ts'
import { pageOf, pageSize } from './pages.ts'

const NEXT = 'seq > ? ORDER BY seq LIMIT ?'

/** All columns but the answer's headers and body. */
const OPERATIONS =
  'SELECT seq, id, scope, task, key, fingerprint, provider_key, state, ever_unknown, first_at_ms, last_at_ms, ' +
  'keep_until_ms, status, body_kept FROM operations WHERE'

const ATTEMPTS =
  'SELECT a.*, o.id AS operation_id, o.scope, o.key FROM attempts a JOIN operations o ON o.seq = a.operation WHERE'

export class OperationLists {
  readonly #operations: StatementSync
  readonly #operationsOfTask: StatementSync
  readonly #operationsUndone: StatementSync
  readonly #attempts: StatementSync
  readonly #attemptsOfTask: StatementSync
  readonly #attemptsOfOperation: StatementSync

  constructor(db: DatabaseSync) {
    this.#operations = db.prepare(`${OPERATIONS} ${NEXT}`)
    this.#operationsOfTask = db.prepare(`${OPERATIONS} task = ? AND ${NEXT}`)
    // In the words of its index: without them SQLite doesn't use it.
    this.#operationsUndone = db.prepare(`${OPERATIONS} state <> 'done' AND state = ? AND ${NEXT}`)
    this.#attempts = db.prepare(`${ATTEMPTS} a.${NEXT}`)
    this.#attemptsOfTask = db.prepare(`${ATTEMPTS} a.task = ? AND a.${NEXT}`)
    this.#attemptsOfOperation = db.prepare(
      `${ATTEMPTS} a.operation = (SELECT seq FROM operations WHERE id = ?) AND a.${NEXT}`,
    )
    for (const statement of [this.#attempts, this.#attemptsOfTask, this.#attemptsOfOperation]) {
      statement.setReadBigInts(true)
    }
  }

  operations({ task, state, limit, after }: OperationsQuery): Page<ListedOperation> {
    const size = pageSize(limit)
    const rows = () => {
      if (state !== undefined && state !== 'done') return this.#operationsUndone.all(state, after, size)
      if (task !== undefined) return this.#operationsOfTask.all(task, after, size)
      return this.#operations.all(after, size)
    }
    return pageOf(
      rows().map(toListedOperation),
      size,
      (row) => (task ?? row.task) === row.task && (state ?? row.state) === row.state,
    )
  }

  attempts({ task, token, operation, limit, after }: AttemptsQuery): Page<ListedAttempt> {
    const size = pageSize(limit)
    const rows = () => {
      if (operation !== undefined) return this.#attemptsOfOperation.all(operation, after, size)
      if (task !== undefined) return this.#attemptsOfTask.all(task, after, size)
      return this.#attempts.all(after, size)
    }
    return pageOf(
      rows().map(toListedAttempt),
      size,
      (row) =>
        (task ?? row.operation.task) === row.operation.task && (token === undefined || token === row.token),
    )
  }
}

function toListedOperation(row: Record<string, unknown>): ListedOperation {
  return {
    ...toOperation(row),
    seq: row.seq as number,
    status: (row.status as number | null) ?? undefined,
    bodyKept: (row.body_kept as ListedOperation['bodyKept'] | null) ?? undefined,
    lastAtMs: row.last_at_ms as number,
    keepUntilMs: row.keep_until_ms as number,
  }
}

function toListedAttempt(row: Record<string, unknown>): ListedAttempt {
  const text = <T = string>(column: string) => (row[column] ?? undefined) as T
  const number = (column: string) => (row[column] === null ? undefined : Number(row[column]))
  return {
    seq: Number(row.seq),
    id: text('id'),
    operation: { id: text('operation_id'), scope: text('scope'), task: text('task'), key: text('key') },
    token: (row.token as Token | null) ?? undefined,
    holder: text('holder'),
    route: text('route'),
    method: text('method'),
    target: text('target'),
    atMs: Number(row.at_ms),
    outcome: text('outcome'),
    status: number('status'),
    final: row.final === 1n,
    reason: text('reason'),
    endedAtMs: number('ended_at_ms'),
    resolution: text('resolution'),
  }
}
