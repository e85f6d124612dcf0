/** Attempts of operations and their endings, as tests write them down: what matters is said, the rest is filled in. */
import type {
  AttemptEnd,
  AttemptRecord,
  ListedAttempt,
  RecordedAnswer,
} from '../../src/journal/operations.ts'
import type { Page } from '../../src/journal/queries.ts'
import type { Change } from '../../src/store/mark-store.ts'
import { TIMED_OUT, writeRecord } from './store-changes.ts'

type AttemptFields = Partial<AttemptRecord> & { readonly task?: string }

/** An attempt of the operation that `of` names. */
export function attemptRecord(id: string, of = 'op', { task = 'k', ...fields }: AttemptFields = {}) {
  const atMs = fields.atMs ?? 1_000
  const operation = {
    id: of,
    scope: 'default',
    task,
    key: `key of ${of}`,
    fingerprint: `fingerprint of ${of}`,
    providerKey: `fg-${of}`,
    firstAtMs: atMs,
  }
  const target = `/settlements/${task}`
  const record: AttemptRecord = {
    ...{ id, operation, token: 8n, holder: undefined, route: 'settlements', method: 'POST', target, atMs },
    keepMs: 500,
    ...fields,
  }
  return record
}

export const ANSWER: RecordedAnswer = {
  status: 201,
  headers: ['content-type', 'text/plain', 'location', '/charges/1'],
  bodyKept: 'plain',
  body: Uint8Array.from([0, 104, 105, 255]),
}

const END = {
  status: undefined,
  reason: undefined,
  answer: undefined,
  final: false,
  endedAtMs: 2_000,
} as const

/** Ways for an attempt to end. */
export const ENDS = {
  final: { ...END, outcome: 'answered', status: 201, answer: ANSWER, final: true },
  refused: { ...END, outcome: 'answered', status: 409 },
  notSent: { ...END, outcome: 'not-sent' },
  unknown: { ...END, outcome: 'unknown', reason: 'timeout' },
} as const satisfies Record<string, AttemptEnd>

/** What the gate commits before it sends: the write's intent, and the attempt. */
export function begin(attempt: AttemptRecord): Change[] {
  const { id, operation, token = 0n } = attempt
  return [
    { kind: 'intent', write: writeRecord(id, { task: operation.task, token, holds: true }) },
    { kind: 'attempt', attempt },
  ]
}

/** What it commits when the attempt has ended. */
export function finish({ id, operation, token = 0n }: AttemptRecord, end: AttemptEnd): Change[] {
  const write = writeRecord(id, { task: operation.task, token, holds: true })
  return [
    end.outcome === 'unknown' ? { kind: 'unknown', write, end: TIMED_OUT } : { kind: 'ended', id },
    { kind: 'attempt-ended', id, operation: operation.id, end },
  ]
}

export function resolved(id: string, resolution: 'applied' | 'not-applied' | 'compensated'): Change {
  return { kind: 'resolved', id, resolution, by: 'ops', note: 'in the ledger', atMs: 3_000 }
}

/** As it is listed while it is open. */
export function listed(
  { keepMs: _, keyLifetimeMs: __, ...attempt }: AttemptRecord,
  seq: number,
): ListedAttempt {
  const { id, scope, task, key } = attempt.operation
  const open = {
    outcome: 'open',
    status: undefined,
    final: false,
    reason: undefined,
    endedAtMs: undefined,
  } as const
  return { ...attempt, ...open, operation: { id, scope, task, key }, seq, resolution: undefined }
}

/** Reads page after page. */
export async function allPages<T>(read: (after: number) => Promise<Page<T>> | Page<T>): Promise<T[]> {
  const rows: T[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Page<T> = await read(after)
    rows.push(...page.rows)
    after = page.next
  }
  return rows
}
