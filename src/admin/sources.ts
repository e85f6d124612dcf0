/** What the admin API is about: the parts of the running sidecar, as far as there are any yet, or still. */
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Operator } from '../gate/operator.ts'
import type { GateView } from '../gate/view.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { type MarkStore, StoreError } from '../store/mark-store.ts'
import { unavailable } from './request-error.ts'

export type Phase = 'starting' | 'serving' | 'stopping'

/** What there is while the store is open. */
export interface Running {
  readonly store: MarkStore
  readonly view: GateView
  readonly operator: Operator
}

export interface InForce {
  /** The absolute path of its file, if there is one. */
  readonly file: string | undefined
  readonly config: Config
  readonly warnings: readonly string[]
  readonly lastReload: LastReload | undefined
}

export interface LastReload {
  readonly atMs: number
  readonly cause: string
  readonly result: 'applied' | 'unchanged' | 'refused'
  /** Why it was refused. */
  readonly message?: string
}

export interface Sources {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly startedAtMs: number
  phase(): Phase
  /** Whether an unclean stop is still being waited out: current holders are served, handovers wait. */
  grace(): boolean
  running(): Running | undefined
  configuration(): InForce
  /** Shown, not required: a resource that is down is not a reason to restart the sidecar. */
  upstreams(): readonly { readonly origin: string; readonly state: string }[]
  /** Told of an error that nobody expected, and of what an operator should know. */
  failed(error: Error): void
  noted(facts: object, message: string): void
}

/** Throws what says that there is nothing to ask yet, or any more. */
export function requireRunning(sources: Sources): Running {
  const running = sources.running()
  if (running) return running
  throw unavailable(
    sources.phase() === 'starting'
      ? 'the sidecar is starting, and its store is not open yet: ask again shortly'
      : 'the sidecar is stopping: ask the one that takes its place',
  )
}

/** Far above what a read takes: a store that answers later than this is in trouble. */
const READ_MS = 5000

/** An answer of the store, or a {@link StoreError} if it keeps that back for too long. */
export function inTime<T>(clock: Clock, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(READ_MS, () =>
      reject(new StoreError(`the store has not answered for ${READ_MS / 1000} s: ask again`)),
    )
    answer.then(resolve, reject).finally(cancel)
  })
}
