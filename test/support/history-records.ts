/** What is on record, against P2's other half: nobody's outcome is unknown to everybody. */
import type { History, Rule, Violation } from './history.ts'
import { by, operationsOnRecord } from './history.ts'

/** The longest that an ending waits for its commit when the store works: a stopped process, a slow disk. */
const ENDING_MS = 2500

/**
 * Whether the sidecar was killed while an ending of between these instants could still have been on its way to the
 * store; or stopped in order, but with a store that took no endings. Without an intent, restartGrace stands for
 * the record then.
 */
function cutOff({ stops, storeFaults }: History, from: number, until: number): boolean {
  const faults = storeFaults.filter((fault) => fault.from <= until + ENDING_MS && fault.until >= from)
  const latest = Math.max(until, ...faults.map((fault) => fault.until)) + ENDING_MS
  return stops.some(
    ({ how, ...stop }) =>
      (how === 'killed' || (how === 'cut' && faults.length > 0)) && stop.until >= from && stop.from <= latest,
  )
}

/** Told unknown, or sent and not answered: on record; with an intent always, else unless the sidecar was killed. */
export const unknownIsOnRecord: Rule = (history) => {
  const { asked, seen, routes, unknownStatuses } = history
  const recorded = operationsOnRecord(history)
  const sent = by(seen, ({ id }) => id)
  const violations: Violation[] = []
  for (const { id, task, token, route, told, from, until } of asked) {
    if (recorded.has(id)) continue
    const missing = (what: string, end: number) => {
      if (!routes[route]?.intent && cutOff(history, from, end)) return
      const message = `${id} (task ${task}, token ${token}, route ${route}) ${what}, and is not on record`
      violations.push({ rule: 'on record', message, ids: [id] })
    }
    const answers = sent.get(id) ?? []
    // An answer that could not be put on record in time is there for the next attempt, and no unknown outcome.
    const late = routes[route]?.once && answers.length > 0 && answers.every(({ answered }) => answered)
    if (told.kind === 'refusal' && told.sent === 'unknown' && !late)
      missing(`was told ${told.code}`, until ?? from)
    for (const { answer, answered, closed } of answers) {
      if (!answered) missing('was sent and not answered', closed?.at ?? Number.POSITIVE_INFINITY)
      else if (answer && unknownStatuses.includes(answer.status))
        missing(`was answered ${answer.status}`, answered.at)
    }
  }
  return violations
}

/** What was listed stays listed until it is resolved; what was resolved stays so. */
export const acknowledgedRecordsStay: Rule = ({ listings, acts }) => {
  const resolves = by(
    acts.flatMap((act) => (act.kind === 'resolve' ? [act] : [])),
    ({ record }) => record,
  )
  const ordered = listings.toSorted((a, b) => a.from - b.from)
  const violations: Violation[] = []
  const known = new Map<string, number>()
  for (const { from, until, records } of ordered) {
    const listed = new Set(records.map(({ id }) => id))
    for (const [id, since] of known) {
      const asked = (resolves.get(id) ?? []).some((resolve) => resolve.from < until)
      if (asked) known.delete(id)
      else if (!listed.has(id) && since < from)
        violations.push({ rule: 'records stay', message: `record ${id} has vanished unresolved`, ids: [id] })
    }
    for (const { id } of records) {
      const done = (resolves.get(id) ?? []).some(
        (resolve) => resolve.until !== undefined && resolve.until < from,
      )
      if (done)
        violations.push({ rule: 'records stay', message: `record ${id} is unresolved again`, ids: [id] })
      known.set(id, until)
    }
  }
  return violations
}
