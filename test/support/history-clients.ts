/** What clients were told, against P5 (never a guess), and what that says of marks and freezes (P3). */
import type { Asked, History, Rule, Violation } from './history.ts'
import { by, freezes } from './history.ts'

const named = ({ id, task, token }: Asked) => `${id} (task ${task}, token ${token})`

export const answersAreExplained: Rule = ({ asked, seen }) => {
  const writes = by(seen, ({ id }) => id)
  const violation = (request: Asked, message: string) => ({
    rule: 'honest',
    message: `${named(request)} ${message}`,
    ids: [request.id],
  })
  return asked.flatMap((request) => {
    const { told } = request
    const found = writes.get(request.id) ?? []
    if (told.kind === 'refusal' && told.sent === 'no' && found.length > 0) {
      return [violation(request, `was told ${told.code}, not sent, but the resource saw it`)]
    }
    if (told.kind === 'announced' && found.length > 0) {
      return [violation(request, 'was an announcement, but the resource saw it')]
    }
    if (told.kind !== 'answer') return []
    const given = found.some(({ answer }) => answer?.id === told.answer && answer.status === told.status)
    return given
      ? []
      : [violation(request, `was told ${told.status} ${told.answer}, which the resource didn't say`)]
  })
}

/** Instants from which the mark of a task was at least so high, and somebody had been told so. */
function acknowledged({ asked, acts }: History) {
  const marks: { task: string; token: bigint; at: number }[] = []
  for (const { task, token, until, told } of asked) {
    if (until === undefined) continue
    if (told.kind === 'answer' || told.kind === 'announced') marks.push({ task, token, at: until })
    if (told.kind === 'refusal' && told.highest !== undefined)
      marks.push({ task, token: told.highest, at: until })
  }
  for (const act of acts) {
    if (act.until === undefined || (act.kind !== 'raise' && act.kind !== 'thaw')) continue
    if (act.token !== undefined) marks.push({ task: act.task, token: act.token, at: act.until })
  }
  return marks
}

/** Instants from which a token may have become the mark. */
function claimed({ asked, acts }: History) {
  const claims: { task: string; token: bigint; at: number }[] = asked.map(({ task, token, from }) => ({
    task,
    token,
    at: from,
  }))
  for (const act of acts) {
    if ((act.kind === 'raise' || act.kind === 'thaw') && act.token !== undefined)
      claims.push({ task: act.task, token: act.token, at: act.from })
  }
  return claims
}

/** Answers "the highest token of a task until an instant" from a list of them. */
function highestBefore(points: readonly { task: string; token: bigint; at: number }[]) {
  const series = new Map<string, { at: number; highest: bigint }[]>()
  for (const [task, group] of by(points, (point) => point.task)) {
    let highest = 0n
    const rising = group
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, token }) => {
        if (token > highest) highest = token
        return { at, highest }
      })
    series.set(task, rising)
  }
  return (task: string, instant: number): bigint =>
    series.get(task)?.findLast(({ at }) => at < instant)?.highest ?? 0n
}

const REFUSED_BEFORE_THE_MARK = new Set(['task-frozen', 'store-unavailable'])

/** Once anybody was told of a mark, a lower token is stale, whatever happens; and no mark is made up. */
export const marksAreKept: Rule = (history) => {
  const atLeast = highestBefore(acknowledged(history))
  const atMost = highestBefore(claimed(history))
  const sent = new Set(history.seen.map(({ id }) => id))
  const violations: Violation[] = []
  const violate = (request: Asked, message: string) => {
    violations.push({ rule: 'marks', message: `${named(request)} ${message}`, ids: [request.id] })
  }
  for (const request of history.asked) {
    const { task, token, from, until, told, id } = request
    const known = atLeast(task, from)
    if (token < known && sent.has(id)) violate(request, `was sent, though the mark was ${known} already`)
    if (told.kind === 'nothing') continue
    if (told.kind !== 'refusal') {
      if (token < known) violate(request, `passed, though the mark was ${known} already`)
    } else if (told.code === 'stale-token') {
      const highest = told.highest ?? 0n
      if (highest < known) violate(request, `was told of mark ${highest}, which was ${known} already`)
      if (highest > atMost(task, until ?? Number.POSITIVE_INFINITY))
        violate(request, `was told of mark ${highest}, which nobody had claimed`)
    } else if (token < known && !REFUSED_BEFORE_THE_MARK.has(told.code)) {
      violate(request, `was told ${told.code}, though the mark was ${known} already`)
    }
  }
  return violations
}

/** Who asks while a task is frozen is told so, or that the store can't be read. */
export const frozenIsTold: Rule = (history) => {
  const requests = by(history.asked, ({ task }) => task)
  return freezes(history).flatMap(({ task, from, until }) =>
    (requests.get(task) ?? []).flatMap((request) => {
      const { told } = request
      const within = request.from > from && request.until !== undefined && request.until < until
      if (!within || told.kind === 'nothing') return []
      if (told.kind === 'refusal' && REFUSED_BEFORE_THE_MARK.has(told.code)) return []
      const said = told.kind === 'refusal' ? told.code : told.kind
      return [
        { rule: 'frozen', message: `${named(request)} was told ${said} on a frozen task`, ids: [request.id] },
      ]
    }),
  )
}
