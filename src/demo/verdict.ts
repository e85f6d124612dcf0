/**
 * The verdict on a run: a pure function over what the ledger recorded and what A was told. Any fault fails
 * the demo. That the unfenced run must show the damage is a part of it: without that, a fenced run that
 * shows none would prove nothing.
 */
import {
  type Answer,
  BATCHES,
  type Ending,
  type LedgerState,
  type LedgerWrite,
  type Payout,
  payouts,
  type Writer,
} from './story.ts'

export interface Evidence {
  readonly fenced: boolean
  /** As the ledger has it at the end. */
  readonly ledger: LedgerState
  readonly tokens: { readonly A: number; readonly B: number }
  /** A's port before it was stopped. */
  readonly portBefore: number
  /** What A got for each write after it was continued. */
  readonly late: readonly Answer[]
  readonly ending: Ending
}

export interface Verdict {
  readonly ok: boolean
  readonly text: string
  /** What was not as it has to be, one sentence each; empty where `ok`. */
  readonly faults: readonly string[]
}

/** What the ledger took from A after it had taken anything from B. */
export function lateWrites({ writes }: LedgerState): LedgerWrite[] {
  const takeover = writes.findIndex((write) => write.writer === 'B')
  return takeover < 0 ? [] : writes.slice(takeover).filter((write) => write.writer === 'A')
}

export function judge(evidence: Evidence): Verdict {
  const faults = [...commonFaults(evidence), ...(evidence.fenced ? fencedFaults : unfencedFaults)(evidence)]
  const ok = faults.length === 0
  return { ok, text: ok ? summary(evidence) : faults.join(' '), faults }
}

function commonFaults({ ledger, tokens, portBefore, late }: Evidence): string[] {
  const faults: string[] = []
  const complete = new Set(ledger.writes.filter(({ writer }) => writer === 'B').map(({ batch }) => batch))
  if (complete.size !== BATCHES) faults.push(`The ledger took ${complete.size} of B's ${BATCHES} batches.`)
  if (tokens.B <= tokens.A) faults.push(`B's token ${tokens.B} is not above A's ${tokens.A}.`)
  const first = late[0]
  if (!first) faults.push('A wrote nothing after it was continued.')
  else if (first.port !== portBefore) {
    faults.push(`A wrote on a new connection (port ${first.port}), not on its old one (port ${portBefore}).`)
  }
  return faults
}

function unfencedFaults({ ledger }: Evidence): string[] {
  if (lateWrites(ledger).length > 0) return []
  return [
    "The ledger took nothing from A after B's first write: the incident did not show, so nothing is proved.",
  ]
}

function fencedFaults({ ledger, late, ending }: Evidence): string[] {
  const faults: string[] = []
  const through = lateWrites(ledger).map(({ batch }) => batch)
  if (through.length > 0)
    faults.push(`The fence let A's batch ${through.join(', ')} through after B's first.`)
  if (!ledger.export.every(({ writer }) => writer === 'B')) faults.push("The export is not B's alone.")
  for (const { batch, status, code } of late) {
    if (status === 412 && code === 'stale-token') continue
    faults.push(`A's batch ${batch} got ${status}${code ? ` ${code}` : ''} where 412 stale-token was due.`)
  }
  if (ending !== 'told-to-stop' || late.length > 1) faults.push('A was not stopped by its first refusal.')
  return faults
}

function summary({ fenced, ledger }: Evidence): string {
  if (fenced) return "ONE CANONICAL EXPORT, B's. A was refused with 412 stale-token, and stopped."
  const batches = lateWrites(ledger).map(({ batch }) => batch)
  return `TWO CONFLICTING EXPORTS. The ledger let A's batch ${batches.join(' and ')} replace B's.`
}

/** Whose each batch is, and what they add up to beside what either export does. */
export function describeExport({ export: batches }: LedgerState): string {
  const whose = batches.map(({ writer }) => writer).join(', ')
  const [total, a, b] = [batches, exportOf('A'), exportOf('B')].map((entries) => amount(sum(entries)))
  return `${whose}. Total ${total} (A's export ${a}, B's ${b})`
}

function exportOf(writer: Writer): Payout[] {
  return Array.from({ length: BATCHES }, (_, index) => payouts(writer, index + 1)).flat()
}

const sum = (entries: readonly { readonly cents: number }[]) =>
  entries.reduce((cents, entry) => cents + entry.cents, 0)

const amount = (cents: number) => (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2 })
