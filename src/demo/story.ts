/**
 * The incident as data: the numbers of the story, the payouts that the workers export, and the messages
 * between the demo and the processes it starts. Imported by both sides; does nothing by itself.
 */

/** What the lease is on. */
export const TASK = 'settlement-2024-03-31'
/** Stands in for the incident's lease, which ended during a pause of 38 s. */
export const LEASE_TTL_MS = 1500
/** How far A's wall clock is set back while A is stopped. */
export const CLOCK_STEP_MS = 420
/** An export is this many batches; A is stopped between its check and its write of `STOP_AT`. */
export const BATCHES = 4
export const STOP_AT = 3

export type Writer = 'A' | 'B'

export interface Payout {
  readonly merchant: string
  readonly cents: number
}

/**
 * The rows of one batch, as the worker would read them from its database. Two corrections are booked between
 * A's reading and B's, in batches 2 and 3: so the exports differ, and a mixture of them adds up to neither.
 */
export function payouts(writer: Writer, batch: number): Payout[] {
  const correction = writer === 'B' ? ({ 2: 500, 3: 1200 }[batch] ?? 0) : 0
  return [
    { merchant: `m-${batch}01`, cents: 10_000 * batch - correction },
    { merchant: `m-${batch}02`, cents: 2_550 },
  ]
}

/** A batch as it is sent to the ledger. */
export interface Batch {
  readonly writer: Writer
  readonly payouts: readonly Payout[]
}

/** One write that the ledger took, in the order in which it took them. */
export interface LedgerWrite {
  readonly writer: Writer
  readonly batch: number
  readonly cents: number
  /** The client's port as the ledger saw it: behind the sidecar, the sidecar's. */
  readonly port: number
}

export interface LedgerState {
  readonly writes: readonly LedgerWrite[]
  /** The export as it stands: for each batch, the write that came last. */
  readonly export: readonly LedgerWrite[]
}

/** What a worker learnt from one write. */
export interface Answer {
  readonly batch: number
  readonly token: number
  /** What was left of its lease by its own wall clock as it sent the write. */
  readonly leftMs: number
  readonly status: number
  /** Of a problem document: its code, its detail, and whether to try again. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
  readonly retry?: string | undefined
  /** The worker's own port of the connection on which it wrote. */
  readonly port: number
}

/** How a worker's export ended. `lease-over`: by its own clock, before a write. */
export type Ending = 'completed' | 'told-to-stop' | 'lease-over'

/** From a process to the demo. */
export type Message =
  | { readonly kind: 'listening'; readonly origin: string }
  | { readonly kind: 'lease-awaited'; readonly by: Writer; readonly holder: Writer }
  | { readonly kind: 'lease-ended'; readonly holder: Writer; readonly token: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'acquired'; readonly token: number; readonly leftMs: number }
  | { readonly kind: 'checked'; readonly batch: number; readonly leftMs: number }
  | ({ readonly kind: 'answered' } & Answer)
  | { readonly kind: 'done'; readonly ending: Ending; readonly leftMs: number; readonly released: boolean }

/** From the demo to a worker: where to begin, and then the rows that it asked for with `checked`. */
export type Order = Start | Rows

export interface Start {
  /** The origins of the lease authority, and of what is written to. */
  readonly authority: string
  readonly store: string
}

export interface Rows {
  readonly payouts: readonly Payout[]
}
