/** How reconciled operations are shown: attempts by operation and token, the canonical list, and differences. */
import type { Difference } from '../journal/comparison.ts'
import { type Attempt, isDoubtful, type ReconciledOperation } from '../journal/reconcile.ts'
import { type Columns, time, type View } from './listing.ts'
import { sideBySide, stateOf } from './reconcile-table.ts'

/** An attempt, where each has a line of its own. */
export interface AttemptRow {
  readonly operation: ReconciledOperation
  readonly attempt: Attempt
}

/** A line for each attempt. */
export const ATTEMPT_COLUMNS: Columns<AttemptRow> = {
  scope: ({ operation }) => operation.scope,
  idempotency_key: ({ operation }) => operation.key,
  provider_key: ({ operation }) => operation.providerKey,
  state: ({ operation }) => operation.verdict,
  two_holders: ({ operation }) => String(operation.byTwoHolders),
  token: ({ attempt }) => attempt.token?.toString(),
  holder: ({ attempt }) => attempt.holder,
  route: ({ attempt }) => attempt.route,
  method: ({ attempt }) => attempt.method,
  target: ({ attempt }) => attempt.target,
  at: ({ attempt }) => time(attempt.atMs),
  outcome: ({ attempt }) => attempt.outcome,
  status: ({ attempt }) => attempt.status,
  final: ({ attempt }) => String(attempt.final),
  reason: ({ attempt }) => attempt.reason,
  resolution: ({ attempt }) => attempt.resolution,
  attempt: ({ attempt }) => attempt.id,
}

export const ATTEMPTS: View<AttemptRow> = { table: ATTEMPT_COLUMNS, csv: ATTEMPT_COLUMNS, json: (row) => row }

/** An operation with its attempts: side by side, or in one line of JSON. */
export function attemptsView(operations: readonly ReconciledOperation[]): View<ReconciledOperation> {
  return { table: sideBySide(operations), csv: {}, json: operationJson }
}

function operationJson(operation: ReconciledOperation) {
  const { scope, key, providerKey, verdict, byTwoHolders, attempts } = operation
  return { scope, key, providerKey, state: verdict, byTwoHolders, attempts: attempts.map(attemptJson) }
}

function attemptJson(attempt: Attempt) {
  return { ...attempt, token: attempt.token?.toString() }
}

/** For each operation the one applied attempt. */
export const CANONICAL: View<AttemptRow> = {
  table: {
    OPERATION: ({ operation }) => operation.key,
    STATE: ({ operation }) => stateOf(operation),
    TOKEN: ({ attempt }) => attempt.token?.toString(),
    HOLDER: ({ attempt }) => attempt.holder,
    STATUS: ({ attempt }) => attempt.status ?? attempt.resolution,
    TIME: ({ attempt }) => time(attempt.atMs),
    REQUEST: ({ attempt }) => `${attempt.method} ${attempt.target}`,
  },
  csv: ATTEMPT_COLUMNS,
  json: ({ operation, attempt }) => {
    const { scope, key, providerKey, verdict, byTwoHolders } = operation
    return { scope, key, providerKey, state: verdict, byTwoHolders, ...attemptJson(attempt) }
  },
}

const DIFFERENCE: Columns<Difference> = {
  difference: ({ kind }) => kind,
  line: (difference) => ('entry' in difference ? difference.entry.line : undefined),
  key: (difference) => ('entry' in difference ? difference.entry.key : difference.operation.providerKey),
  scope: ({ operation }) => operation?.scope,
  idempotency_key: ({ operation }) => operation?.key,
  because: (difference) => ('because' in difference ? difference.because : undefined),
  column: (difference) => ('column' in difference ? difference.column : undefined),
  recorded: (difference) => ('column' in difference ? difference.recorded : undefined),
  exported: (difference) => ('column' in difference ? difference.exported : undefined),
  attempt: ({ operation }) => operation && toLookAt(operation)?.id,
}

export const DIFFERENCES: View<Difference> = {
  table: {
    DIFFERENCE: ({ kind }) => kind,
    LINE: (difference) => DIFFERENCE.line?.(difference),
    KEY: (difference) => DIFFERENCE.key?.(difference) ?? '(none)',
    OPERATION: ({ operation }) => operation?.key,
    DETAILS: explained,
  },
  csv: DIFFERENCE,
  json: (difference) =>
    Object.fromEntries(Object.entries(DIFFERENCE).map(([name, cell]) => [inJson(name), cell(difference)])),
}

function toLookAt({ canonical, attempts }: ReconciledOperation): Attempt | undefined {
  return canonical ?? attempts.find(isDoubtful) ?? attempts.at(-1)
}

function inJson(column: string): string {
  return column === 'idempotency_key' ? 'idempotencyKey' : column
}

function explained(difference: Difference): string {
  if (difference.kind === 'missing') {
    const attempt = difference.operation.canonical
    const found = attempt?.resolution ? `was found ${attempt.resolution}` : `was answered ${attempt?.status}`
    return `the provider lacks it; attempt ${attempt?.id} ${found}`
  }
  if (difference.kind === 'differing') {
    const { column, recorded, exported } = difference
    return `${column}: ${exported === undefined ? 'nothing' : JSON.stringify(exported)}, on record ${JSON.stringify(recorded)}`
  }
  if (difference.because === 'not-on-record') return 'no operation of this key is on record'
  if (difference.because === 'repeated') return 'there was an entry of this key before'
  const doubtful = difference.operation?.attempts.find(isDoubtful)
  return `on record as ${difference.because}${doubtful ? `: resolve ${doubtful.id}` : ''}`
}
