/** What is done to whom in a round, and when: chosen by the seed before the round begins. */
import { LONGEST_STALL_MS, TASKS } from './limits.ts'
import { between, pick, type Random } from './random.ts'
import type { Cut, PathName } from './relay.ts'

export type Action =
  /** SIGSTOP, and SIGCONT after `ms`. */
  | { readonly kind: 'pause'; readonly who: string; readonly ms: number }
  /** SIGKILL, and a new process after `downMs`. */
  | { readonly kind: 'kill'; readonly who: string; readonly downMs: number }
  /** SIGTERM to the sidecar, and a new process. */
  | { readonly kind: 'restart'; readonly downMs: number }
  | { readonly kind: 'partition'; readonly path: PathName; readonly how: Cut; readonly ms: number }
  | { readonly kind: 'store'; readonly order: string; readonly ms: number }
  /** A step of the wall clock of one process, to this far from the true time. */
  | { readonly kind: 'clock'; readonly who: string; readonly offsetMs: number }
  | { readonly kind: 'freeze'; readonly task: string; readonly ms: number; readonly elect: boolean }
  | { readonly kind: 'raise'; readonly task: string }

export interface Step {
  readonly atMs: number
  readonly action: Action
}

export const ROUND_MS = 2500
const HOUR_MS = 3_600_000
export const CLOCK_OFFSETS_MS = [HOUR_MS, -HOUR_MS, 420, -420, 0]

export function planRound(random: Random, workers: readonly string[], clocks: boolean): Step[] {
  const everybody = ['sidecar', 'resource', ...workers]
  const stall = () => between(random, 50, LONGEST_STALL_MS)
  const task = () => pick(random, Object.keys(TASKS))
  const kinds: Record<Action['kind'], () => Action> = {
    pause: () => ({ kind: 'pause', who: pick(random, everybody), ms: stall() }),
    kill: () => {
      const who = pick(random, ['sidecar', 'sidecar', ...workers])
      return { kind: 'kill', who, downMs: between(random, 0, 200) }
    },
    restart: () => ({ kind: 'restart', downMs: between(random, 0, 100) }),
    partition: () => {
      const path = pick(random, ['front', 'back'] as const)
      return { kind: 'partition', path, how: pick(random, ['blackhole', 'refuse'] as const), ms: stall() }
    },
    store: () => {
      const order = pick(random, ['full', 'io', 'io-stored', `slow ${between(random, 20, 300)}`])
      return { kind: 'store', order, ms: stall() }
    },
    clock: () => ({ kind: 'clock', who: pick(random, everybody), offsetMs: pick(random, CLOCK_OFFSETS_MS) }),
    freeze: () => ({ kind: 'freeze', task: task(), ms: between(random, 20, 400), elect: random() < 0.5 }),
    raise: () => ({ kind: 'raise', task: task() }),
  }
  const weights: readonly (readonly [Action['kind'], number])[] = [
    ['pause', 4],
    ['kill', 2],
    ['restart', 1],
    ['partition', 2],
    ['store', 1],
    ['clock', clocks ? 3 : 0],
    ['freeze', 1],
    ['raise', 1],
  ]
  const bag = weights.flatMap(([kind, weight]) => Array<Action['kind']>(weight).fill(kind))
  return Array.from({ length: between(random, 3, 8) }, () => ({
    atMs: between(random, 0, ROUND_MS),
    action: kinds[pick(random, bag)](),
  })).sort((a, b) => a.atMs - b.atMs)
}
