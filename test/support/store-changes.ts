/** Changes and records as tests write them down: what matters is said, the rest is filled in. */
import type { UnknownEnd, UnknownWrite, WriteRecord } from '../../src/journal/records.ts'
import type { Change, Mark, MarkStore } from '../../src/store/mark-store.ts'
import type { Token } from '../../src/token.ts'

export function markChange(task: string, token: Token, complete: boolean, holder?: string): Change {
  return { kind: 'mark', task, token, complete, holder }
}

/** Records a mark alone. */
export function record(store: MarkStore, task: string, token: Token, complete: boolean): Promise<void> {
  return store.commit([markChange(task, token, complete)])
}

export async function markOf(store: MarkStore, task: string): Promise<Mark> {
  return (await store.load(task)).mark
}

export function writeRecord(id: string, fields: Partial<WriteRecord> = {}): WriteRecord {
  return {
    id,
    task: 'k',
    token: 8n,
    holder: undefined,
    holds: false,
    route: 'settlements',
    method: 'POST',
    target: '/settlements/k',
    operation: undefined,
    admittedAtMs: 1_000,
    ...fields,
  }
}

export const TIMED_OUT: UnknownEnd = { reason: 'timeout', bytesSent: 12, endedAtMs: 2_000 }

/** As the write is listed once it has ended so. */
export function unknownWrite(write: WriteRecord, end: UnknownEnd = TIMED_OUT): UnknownWrite {
  return { ...write, ...end, ...UNRESOLVED }
}

export const UNRESOLVED = {
  resolution: undefined,
  resolvedBy: undefined,
  note: undefined,
  resolvedAtMs: undefined,
}
