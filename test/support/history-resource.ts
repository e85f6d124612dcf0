/** What the resource saw, against P1 (order), P2 (no overlap), P4 (at most once, unchanged), holds and freezes. */
import type { History, Moment, Rule, Seen, Violation } from './history.ts'
import { by, freezes, operationsOnRecord } from './history.ts'

const named = ({ id, token, first }: Seen) =>
  `${id} (token ${token}, first byte at ${Math.round(first.at)} in batch ${first.batch})`

/** Each task's writes, batch by batch. */
function* batches(history: History) {
  for (const [task, writes] of by(history.seen, ({ task }) => task)) {
    const groups = by(
      [...writes].sort((a, b) => a.first.batch - b.first.batch),
      ({ first }) => String(first.batch),
    )
    yield { task, batches: [...groups.values()] }
  }
}

/** When the write was over for the resource: answered, or its connection gone. */
const endOf = ({ answered, closed }: Seen): Moment | undefined => answered ?? closed

export const sentOnce: Rule = ({ seen }) =>
  [...by(seen, ({ id }) => id)].flatMap(([id, times]) =>
    times.length === 1
      ? []
      : [{ rule: 'sent once', message: `the resource saw it ${times.length} times`, ids: [id] }],
  )

export const orderIsKept: Rule = (history) => {
  const violations: Violation[] = []
  for (const { batches: groups } of batches(history)) {
    let highest: Seen | undefined
    for (const group of groups) {
      for (const write of group) {
        if (!highest || write.token >= highest.token) continue
        const message = `${named(write)} began after ${named(highest)}`
        violations.push({ rule: 'order', message, ids: [write.id, highest.id] })
      }
      for (const write of group) if (!highest || write.token > highest.token) highest = write
    }
  }
  return violations
}

/** A write with a higher token begins after every lower one was answered, lost its connection, or is on record. */
export const writesDoNotOverlap: Rule = (history) => {
  const recorded = operationsOnRecord(history)
  const violations: Violation[] = []
  for (const { batches: groups } of batches(history)) {
    let open: Seen[] = []
    for (const group of groups) {
      const batch = (group[0] as Seen).first.batch
      open = [...open, ...group].filter((write) => (endOf(write)?.batch ?? Number.POSITIVE_INFINITY) > batch)
      for (const higher of group) {
        for (const lower of open) {
          if (lower.token >= higher.token || recorded.has(lower.id)) continue
          const end = endOf(lower)
          const message = `${named(higher)} began while ${named(lower)} was open, until ${end ? Math.round(end.at) : 'the end'}`
          violations.push({ rule: 'overlap', message, ids: [lower.id, higher.id] })
        }
      }
    }
  }
  return violations
}

/** After an unclean stop, what follows a write that was open and isn't on record waits for restartGrace. */
export const graceIsKept: Rule = (history) => {
  const { graceMs } = history
  const recorded = operationsOnRecord(history)
  const stops = history.stops.toSorted((a, b) => a.restarted - b.restarted)
  const violations: Violation[] = []
  for (const writes of by(history.seen, ({ task }) => task).values()) {
    for (const lower of writes) {
      const lost = stops.findIndex(({ restarted }) => restarted > lower.first.at)
      const stop = stops[lost]
      if (!stop || stop.how === 'clean' || recorded.has(lower.id)) continue
      if (lower.answered && lower.answered.at <= stop.until) continue
      // The first process after the stop that lived through its grace ends the wait.
      const survivor = stops.slice(lost).find(({ graceFrom }, i) => {
        const next = stops[lost + i + 1]
        return !next || next.from >= graceFrom + graceMs
      })
      const over = (survivor?.graceFrom ?? 0) + graceMs
      for (const higher of writes) {
        if (higher.token <= lower.token || higher.first.at < stop.restarted || higher.first.at >= over)
          continue
        const message = `${named(higher)} began ${Math.round(over - higher.first.at)} ms before the grace for ${named(lower)} ended`
        violations.push({ rule: 'grace', message, ids: [lower.id, higher.id] })
      }
    }
  }
  return violations
}

/** What a held unknown outcome keeps out begins after somebody set about resolving it. */
export const heldIsKept: Rule = (history) => {
  const { seen, listings, acts } = history
  const writes = by(seen, ({ task }) => task)
  const ids = new Set(seen.map(({ id }) => id))
  const records = new Map(listings.flatMap((listing) => listing.records.map((record) => [record.id, record])))
  // A record of what was never sent is caution, not a promise: an intent whose write was revoked, then a kill.
  const held = [...records.values()].filter(({ holds, operation }) => holds && ids.has(operation))
  return held.flatMap((record) => {
    const resolves = acts.filter((act) => act.kind === 'resolve' && act.record === record.id)
    const resolvedFrom = Math.min(...resolves.map(({ from }) => from))
    return (writes.get(record.task) ?? [])
      .filter(({ token, first }) => token > record.token && first.at < resolvedFrom)
      .map((write) => ({
        rule: 'held',
        message: `${named(write)} began before record ${record.id} (token ${record.token}) was resolved`,
        ids: [record.operation, write.id],
      }))
  })
}

/** Nothing begins on a frozen task, but what had begun by then and is only now seen. */
export const frozenIsKept: Rule = (history) => {
  const recorded = operationsOnRecord(history)
  return freezes(history).flatMap(({ task, from, until, open }) =>
    history.seen
      .filter((write) => write.task === task && write.first.at > from && write.first.at < until)
      .filter(({ id }) => !open.has(id) && !recorded.has(id))
      .map((write) => ({
        rule: 'frozen',
        message: `${named(write)} began while ${task} was frozen, from ${Math.round(from)} to ${Math.round(until)}`,
        ids: [write.id],
      })),
  )
}

export const oneHolderEach: Rule = ({ seen }) =>
  [...by(seen, ({ task, token }) => `${task} ${token}`)].flatMap(([what, writes]) => {
    const holders = new Set(writes.flatMap(({ holder }) => holder ?? []))
    if (holders.size <= 1) return []
    const message = `task and token ${what} were used by ${[...holders].join(' and ')}`
    return [{ rule: 'one holder', message, ids: writes.map(({ id }) => id) }]
  })

/** The resource got what the client sent, and acted on nothing less. */
export const wholeWhenApplied: Rule = ({ seen, asked }) => {
  const requests = new Map(asked.map((request) => [request.id, request]))
  return seen.flatMap((write) => {
    const request = requests.get(write.id)
    if (!request)
      return [{ rule: 'faithful', message: `${named(write)} was asked by nobody`, ids: [write.id] }]
    const claimed = ({ task, token, holder }: Pick<Seen, 'task' | 'token' | 'holder'>) =>
      `${task} ${token} ${holder}`
    const changed = claimed(write) !== claimed(request) || (write.sha256 ?? request.sha256) !== request.sha256
    const partial = write.applied && write.sha256 === undefined
    if (!changed && !partial) return []
    return [{ rule: 'faithful', message: `${named(write)} is not what the client sent`, ids: [write.id] }]
  })
}
