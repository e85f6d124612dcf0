/**
 * The safety decision: one pure function over plain values (DESIGN: "the decision"). Time, I/O, waiting and
 * HTTP stay outside.
 */
import type { Mark } from '../store/mark-store.ts'
import type { Token } from '../token.ts'

/** All that the decision looks at. */
export interface View {
  readonly mark: Mark
  /** Whether a write with a token below the mark may still be open: one is, or grace is running. */
  readonly lowerOpen: boolean
  /** How far above a recorded mark a token may be; `undefined`: any distance. */
  readonly maxTokenJump: Token | undefined
}

export type Decision =
  /** The write may be sent now. */
  | 'permit'
  /** Below the mark: its holder has lost the lease. */
  | 'stale-token'
  /** Too far above the mark: a poisoned or foreign token. */
  | 'token-jump'
  /** Above the mark: record it, then decide again. */
  | 'raise'
  /** The mark's own token, but a lower write is open: wait, then decide again. */
  | 'drain'
  /** The mark's own token and nothing lower is open: record that, then decide again. */
  | 'settle'

export function decide(view: View, token: Token): Decision {
  const { mark } = view
  if (token < mark.token) return 'stale-token'
  if (token > mark.token) {
    const jump = view.maxTokenJump
    if (jump !== undefined && mark.recorded && token - mark.token > jump) return 'token-jump'
    return 'raise'
  }
  if (mark.complete) return 'permit'
  return view.lowerOpen ? 'drain' : 'settle'
}
