/**
 * The safety decision: one pure function over plain values (DESIGN: "the decision"). Time, I/O, waiting and
 * HTTP stay outside.
 */
import type { HeldWrite, TaskRecord } from '../store/mark-store.ts'
import { type Claim, NO_TOKEN, type Token } from '../token.ts'

/** All that the decision looks at. */
export interface View {
  readonly record: TaskRecord
  /** Whether a write with a token below the mark may still be open: one is, or grace is running. */
  readonly lowerOpen: boolean
  /** How far above a recorded mark a token may be; `undefined`: any distance. */
  readonly maxTokenJump: Token | undefined
}

export type Decision =
  /** The write may be sent now. */
  | 'permit'
  /** An operator has stopped all writes of the task. */
  | 'task-frozen'
  /** Below the mark: its holder has lost the lease. */
  | 'stale-token'
  /** Too far above the mark: a poisoned or foreign token. */
  | 'token-jump'
  /** The mark's own token, from another holder than the first that named itself. */
  | 'token-conflict'
  /** Above the mark: record it, then decide again. */
  | 'raise'
  /** The mark's own token, from the first holder that names itself: record that, then decide again. */
  | 'name'
  /** The mark's own token, but a lower write is open: wait, then decide again. */
  | 'drain'
  /** The mark's own token and nothing lower is open: record that, then decide again. */
  | 'settle'
  /** The outcome of a lower write is unknown, and its route keeps later holders out until it is resolved. */
  | 'handover-held'

/**
 * The same for a write without a token, on a route that admits those: it waits for handovers, and is stopped by a
 * freeze and by unresolved outcomes; no token stops it.
 */
export function decideUnclaimed({ record, lowerOpen }: View): Decision {
  const { mark, frozen, held } = record
  if (frozen) return 'task-frozen'
  if (mark.recorded && !mark.complete) return lowerOpen ? 'drain' : 'settle'
  return held.some((write) => keepsOut(write, NO_TOKEN)) ? 'handover-held' : 'permit'
}

export function decide({ record, lowerOpen, maxTokenJump }: View, { token, holder }: Claim): Decision {
  const { mark, frozen, held } = record
  if (frozen) return 'task-frozen'
  if (token < mark.token) return 'stale-token'
  if (token > mark.token) {
    const measured = maxTokenJump !== undefined && mark.recorded
    return measured && token - mark.token > maxTokenJump ? 'token-jump' : 'raise'
  }
  if (holder !== undefined && holder !== mark.holder)
    return mark.holder === undefined ? 'name' : 'token-conflict'
  if (!mark.complete) return lowerOpen ? 'drain' : 'settle'
  return held.some((write) => keepsOut(write, token)) ? 'handover-held' : 'permit'
}

/** Whether a held write keeps this token out: it is lower; and no token at all is kept out by whatever is held. */
export function keepsOut(held: HeldWrite, token: Token): boolean {
  return token === NO_TOKEN || held.token < token
}
