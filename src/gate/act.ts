/** The record of an operator's act, as a change to commit with what it did. */
import type { Act, Author } from '../journal/records.ts'
import type { Change } from '../store/mark-store.ts'
import type { Token } from '../token.ts'

export function act(
  kind: Act['kind'],
  task: string | undefined,
  token: Token | undefined,
  { by, reason }: Author,
  details?: Act['details'],
): Change {
  return {
    kind: 'act',
    act: { kind, task, token, by, reason, atMs: Date.now(), ...(details && { details }) },
  }
}
