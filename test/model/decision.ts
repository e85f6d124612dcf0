/**
 * The table of DESIGN section 3, "The decision", as far as the gate decides it. Written from the table, not
 * from the gate; `decision.test.ts` compares the two on every small input.
 */

/** What the gate knows of the task. */
export interface View {
  readonly frozen: boolean
  readonly token: number
  readonly complete: boolean
  /** The first holder that was named with the mark; 0: none. */
  readonly holder: number
  /** Whether a lower write is open, or may be because grace is running. */
  readonly lowerOpen: boolean
  /** Whether a lower write has an unresolved unknown outcome and its route says `hold`. */
  readonly lowerHeld: boolean
}

export type Decision =
  | 'task-frozen'
  | 'stale-token'
  | 'token-conflict'
  | 'raise'
  | 'name'
  | 'drain'
  | 'settle'
  | 'handover-held'
  | 'permit'

export function decide(view: View, token: number, holder: number): Decision {
  // frozen | 423 `task-frozen`
  if (view.frozen) return 'task-frozen'
  // token < mark | 412 `stale-token`
  if (token < view.token) return 'stale-token'
  // token > mark | raise durably, then as equal
  if (token > view.token) return 'raise'
  // token = mark, another holder named than the mark's first | 409 `token-conflict`
  if (holder !== 0 && view.holder === 0) return 'name'
  if (holder !== 0 && view.holder !== holder) return 'token-conflict'
  // token = mark | permit, once no lower write is open and no lower unknown is held
  if (!view.complete) return view.lowerOpen ? 'drain' : 'settle'
  // a lower write has an unresolved unknown outcome and its route says `hold` | 503 `handover-held`
  return view.lowerHeld ? 'handover-held' : 'permit'
}
