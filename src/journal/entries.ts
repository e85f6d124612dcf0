/** The journal's entries: what happened, other than the attempts of operations, which have records of their own. */
import type { Token } from '../token.ts'

export interface JournalEntry {
  /** Wall clock, milliseconds since the epoch. */
  readonly atMs: number
  readonly kind: 'handover' | 'rejection' | 'act' | 'resolved' | 'dropped'
  /** `undefined` for what is about no single task. */
  readonly task: string | undefined
  readonly token: Token | undefined
  /** What there is to say of this kind. Goes through JSON: strings, numbers, booleans, lists, objects. */
  readonly data: Readonly<Record<string, unknown>>
}

/** An entry as it is listed. */
export interface ListedEntry extends JournalEntry {
  /** Rises with each entry, and is never used again. */
  readonly seq: number
}
