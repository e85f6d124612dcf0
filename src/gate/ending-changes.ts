/** What is put on record when a permit is released. */
import type { AttemptEnd } from '../journal/operations.ts'
import type { Change } from '../store/mark-store.ts'
import type { Admission, Ending } from './admission.ts'

/** In one commit, so that a write and its operation never tell different stories. None: there is nothing on record. */
export function endingChanges(admission: Admission, ending: Ending): Change[] {
  const { id, attempt, intended } = admission
  const endedAtMs = Date.now()
  const changes: Change[] = []
  if (ending.outcome === 'unknown') {
    const { reason, bytesSent } = ending
    changes.push({ kind: 'unknown', write: admission.record, end: { reason, bytesSent, endedAtMs } })
  } else if (intended) {
    changes.push({ kind: 'ended', id })
  }
  if (attempt?.record) {
    changes.push({ kind: 'attempt-ended', id, operation: attempt.id, end: attemptEnd(ending, endedAtMs) })
  }
  return changes
}

export function attemptEnd(ending: Ending, endedAtMs: number): AttemptEnd {
  const { outcome } = ending
  const answer = ending.outcome === 'answered' ? ending.answer : undefined
  return {
    outcome,
    status: answer?.status,
    reason: ending.outcome === 'unknown' ? ending.reason : undefined,
    answer: answer?.recorded,
    final: answer?.final ?? false,
    endedAtMs,
  }
}
