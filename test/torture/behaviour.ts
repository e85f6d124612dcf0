/** What the resource does with a request. The client chooses, in the `behave` field: `KIND MS`, such as `ok 12`. */
import { LONGEST_WORK_MS } from './limits.ts'
import { pick, type Random } from './random.ts'

export type Kind =
  | 'ok'
  /** Answers with a status of its own that has nothing to do with fencing. */
  | 'own'
  /** Answers before it has the body. */
  | 'early'
  /** A hop behind it answers, and doesn't know. */
  | '502'
  | '504'
  /** Resets the connection: when the head is there, in the middle of the body, behind it, within the answer. */
  | 'reset-head'
  | 'reset-body'
  | 'reset-after'
  | 'reset-answer'
  /** Applies it, and says nothing until the other side gives up. */
  | 'never'

const FAULTS: readonly Kind[] = [
  '502',
  '504',
  'reset-head',
  'reset-body',
  'reset-after',
  'reset-answer',
  'never',
  'early',
]

export function chooseBehaviour(random: Random): string {
  const kind: Kind = random() < 0.88 ? (random() < 0.9 ? 'ok' : 'own') : pick(random, FAULTS)
  const slow = random() < 0.25
  return `${kind} ${Math.floor(random() * (slow ? LONGEST_WORK_MS : 25))}`
}

export function readBehaviour(text: string): { kind: Kind; ms: number } {
  const [kind, ms] = text.split(' ')
  return { kind: kind as Kind, ms: Math.min(Number(ms), LONGEST_WORK_MS) }
}
