/**
 * What happened between clients, the sidecar and the resource, and the check that it keeps the promises.
 *
 * The resource's log says what was sent, the clients' logs what was asked and told, the control port what is on
 * record. Each rule is a pure function from a history to violations. A history is complete: it is checked when
 * nothing is open any more.
 *
 * All instants are milliseconds on the machine's monotonic clock, which its processes share. What the resource
 * received within one batch may have arrived in any order: a process that was stopped finds the bytes of several
 * connections at once, and nobody tells it which were first.
 */
import { answersAreExplained, frozenIsTold, marksAreKept } from './history-clients.ts'
import { acknowledgedRecordsStay, unknownIsOnRecord } from './history-records.ts'
import {
  frozenIsKept,
  graceIsKept,
  heldIsKept,
  oneHolderEach,
  orderIsKept,
  sentOnce,
  wholeWhenApplied,
  writesDoNotOverlap,
} from './history-resource.ts'

/** What a client was told of its request. */
export type Told =
  /** It left, died, or lost its connection. */
  | { readonly kind: 'nothing' }
  /** The resource's whole answer. */
  | { readonly kind: 'answer'; readonly status: number; readonly answer: string }
  | { readonly kind: 'announced' }
  | {
      readonly kind: 'refusal'
      readonly code: string
      readonly sent: 'no' | 'unknown'
      readonly highest: bigint | undefined
    }

/** A request as its client knows it. */
export interface Asked {
  readonly id: string
  readonly task: string
  readonly token: bigint
  readonly holder: string | undefined
  readonly route: string
  readonly sha256: string
  readonly from: number
  /** Undefined if the client died before it was told anything. */
  readonly until: number | undefined
  readonly told: Told
}

export interface Moment {
  readonly at: number
  readonly batch: number
}

/** A request as the resource saw it. */
export interface Seen {
  readonly id: string
  readonly task: string
  readonly token: bigint
  readonly holder: string | undefined
  /** Its first byte. */
  readonly first: Moment
  /** The hash of its body, once whole. */
  readonly sha256: string | undefined
  /** Whether the resource did what it asks. */
  readonly applied: boolean
  readonly answer: { readonly id: string; readonly status: number } | undefined
  /** The last byte of the answer. */
  readonly answered: Moment | undefined
  /** The end of its connection, if that came before the end of the answer. */
  readonly closed: Moment | undefined
}

/** An unknown outcome on record. */
export interface Recorded {
  readonly id: string
  /** The request's id, sent as its operation key. */
  readonly operation: string
  readonly task: string
  readonly token: bigint
  readonly holds: boolean
}

/** One reading of the unresolved outcomes, whole. */
export interface Listing {
  readonly from: number
  readonly until: number
  readonly records: readonly Recorded[]
}

/** An operator's act. Without `until` it was never acknowledged, and may have been done or not. */
export type Act = { readonly from: number; readonly until: number | undefined } & (
  | { readonly kind: 'freeze'; readonly task: string; readonly open: readonly string[] }
  | { readonly kind: 'thaw'; readonly task: string; readonly token: bigint | undefined }
  | { readonly kind: 'raise'; readonly task: string; readonly token: bigint }
  | { readonly kind: 'resolve'; readonly record: string }
)

/** An end of the sidecar, and the start after it. */
export interface Stop {
  /** When it was asked to end. */
  readonly from: number
  /** When its end was seen. */
  readonly until: number
  /** `cut`: it ended in order, with writes still open; `killed`: it could put nothing on record any more. */
  readonly how: 'clean' | 'cut' | 'killed'
  /** When the next process was started. */
  readonly restarted: number
  /** The earliest instant at which that one can have begun to count its grace. */
  readonly graceFrom: number
}

export interface RouteFacts {
  readonly intent: boolean
  /** Whether answers are kept back until they are on record. */
  readonly once?: boolean
}

export interface History {
  readonly asked: readonly Asked[]
  readonly seen: readonly Seen[]
  readonly listings: readonly Listing[]
  readonly acts: readonly Act[]
  readonly stops: readonly Stop[]
  /** While the store could not commit. */
  readonly storeFaults: readonly { readonly from: number; readonly until: number }[]
  readonly routes: Readonly<Record<string, RouteFacts>>
  /** The sidecar's restartGrace; 0 where each route has intents, so that it is waived. */
  readonly graceMs: number
  readonly unknownStatuses: readonly number[]
}

export interface Violation {
  readonly rule: string
  readonly message: string
  /** The requests or records that it is about. */
  readonly ids: readonly string[]
}

export type Rule = (history: History) => Violation[]

export const RULES: readonly Rule[] = [
  sentOnce,
  orderIsKept,
  writesDoNotOverlap,
  graceIsKept,
  heldIsKept,
  frozenIsKept,
  oneHolderEach,
  wholeWhenApplied,
  answersAreExplained,
  marksAreKept,
  frozenIsTold,
  unknownIsOnRecord,
  acknowledgedRecordsStay,
]

/** Every way in which the history breaks a promise. */
export function check(history: History): Violation[] {
  return RULES.flatMap((rule) => rule(history))
}

/** Groups by a key, in order. */
export function by<T>(items: Iterable<T>, key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group) group.push(item)
    else groups.set(key(item), [item])
  }
  return groups
}

/** Request ids that are, or were, on record as unknown outcomes. */
export function operationsOnRecord({ listings }: History): Set<string> {
  return new Set(listings.flatMap(({ records }) => records.map(({ operation }) => operation)))
}

/** What nobody acknowledged may still be done so long after it was asked for. */
const LATE_MS = 5000

/** When the task was frozen for sure: from the acknowledgement until somebody asked for its thaw. */
export function freezes({ acts }: History) {
  return acts.flatMap((act) => {
    if (act.kind !== 'freeze' || act.until === undefined) return []
    const thaws = acts.filter(
      (other) =>
        other.kind === 'thaw' && other.task === act.task && (other.until ?? other.from + LATE_MS) >= act.from,
    )
    const until = Math.min(...thaws.map(({ from }) => from))
    return [{ task: act.task, from: act.until, until, open: new Set(act.open) }]
  })
}
