/**
 * The series that a configured route has from the start, at 0: `rate()` doesn't see the first increase of a series
 * that begins with it, and an alert on a rare event would miss the event.
 *
 * Per fenced route that is each outcome, and of the decisions those that the gate gives and that people alert on.
 * A client's own mistakes, of which there are many more, have a series from the first one.
 */
import type { RefusalCode } from '../errors.ts'

/** What of a configured route says which series it has. */
export interface MeteredRoute {
  readonly name: string
  readonly guard: 'none' | 'fence' | 'once'
  readonly mode: 'enforce' | 'observe'
  readonly token: 'required' | 'optional'
}

export const OUTCOMES: readonly string[] = ['answered', 'not-sent', 'unknown']

const REFUSALS: readonly RefusalCode[] = ['stale-token', 'token-conflict', 'token-required', 'task-frozen']
/** What only a request that can be kept waiting is told. */
const DELAYS: readonly RefusalCode[] = ['handover-pending', 'handover-held', 'store-unavailable']
const OF_OPERATIONS: readonly RefusalCode[] = ['operation-unknown', 'operation-mismatch']

export function isFenced({ guard }: MeteredRoute): boolean {
  return guard !== 'none'
}

export function rejectsStale(route: MeteredRoute): boolean {
  return isFenced(route) && route.mode === 'enforce'
}

export function decisionsOf({ guard, mode }: MeteredRoute): readonly string[] {
  if (guard === 'none') return []
  if (mode === 'observe') return ['forwarded', ...REFUSALS.map((code) => `would-${code}`)]
  const ofOperations = guard === 'once' ? ['replayed', ...OF_OPERATIONS] : []
  return ['forwarded', ...REFUSALS, ...DELAYS, ...ofOperations]
}
