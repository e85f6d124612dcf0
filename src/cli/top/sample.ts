/** One look at the sidecar, and what two of them tell: rates. Invariant: a look is of bounded size, however many tasks there are. */
import type { Entry, Status, Task, TaskPage } from '../api.ts'
import { askAt } from '../ask.ts'
import { taskPath } from '../control.ts'
import type { Endpoint } from '../endpoint.ts'

/** Tasks of one state that are looked at; the oldest of those with open writes are shown first. */
const MAX_TASKS = 500
const MAX_REJECTIONS = 100
/** Journal entries that are looked at for rejections. */
const JOURNAL_PAGE = 200
/** Well above the time-out of the store; a look that takes longer is a sidecar that is stuck. */
const ANSWER_MS = 5_000

export interface Sample {
  /** Monotonic, milliseconds. */
  readonly atMs: number
  readonly status: Status
  /** Those with open writes, the oldest first; then those that wait; then those that are frozen. */
  readonly tasks: readonly Task[]
  /** Newest first. */
  readonly rejections: readonly Entry[]
  /** Of the task that was asked for. */
  readonly page: TaskPage | undefined
}

/** Per second, between two looks. */
export interface Rates {
  readonly decisions: number
  readonly stale: number
  readonly raises: number
  /** Mean time of a commit in between; undefined if there was none. */
  readonly commitMs: number | undefined
}

/** @param before the look before, whose rejections are still shown. */
export async function look(
  endpoint: Endpoint,
  task: string | undefined,
  before: Sample | undefined,
): Promise<Sample> {
  const get = <T>(target: string) => askAt<T>(endpoint, target, ANSWER_MS)
  const list = async (state: string) =>
    (await get<{ tasks: Task[] }>(`/v1/tasks?state=${state}&limit=${MAX_TASKS}`)).tasks
  const newest = `/v1/journal?kind=rejection&order=newest&limit=${JOURNAL_PAGE}`
  const [status, open, pending, frozen, { journal }, page] = await Promise.all([
    get<Status>('/v1/status'),
    list('open'),
    list('pending'),
    list('frozen'),
    get<{ journal: Entry[] }>(newest),
    task === undefined ? undefined : get<TaskPage>(taskPath(task)),
  ])
  const rejections = newestFirst([...journal, ...(before?.rejections ?? [])])
  return {
    atMs: performance.now(),
    status,
    tasks: ranked([...open, ...pending, ...frozen]),
    rejections,
    page,
  }
}

function newestFirst(entries: readonly Entry[]): Entry[] {
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]))
  return [...bySeq.values()].sort((a, b) => b.seq - a.seq).slice(0, MAX_REJECTIONS)
}

function ranked(tasks: readonly Task[]): Task[] {
  const byName = new Map(tasks.map((task) => [task.task, task]))
  const age = ({ oldestOpenWriteMs = -1 }: Task) => oldestOpenWriteMs
  const waited = ({ handover }: Task) => handover?.waitedMs ?? -1
  return [...byName.values()].sort((a, b) => age(b) - age(a) || waited(b) - waited(a))
}

/** Undefined where the counters are not those of one process. */
export function ratesBetween(before: Sample, after: Sample): Rates | undefined {
  const seconds = (after.atMs - before.atMs) / 1000
  const [a, b] = [before.status, after.status]
  if (a.startedAtMs !== b.startedAtMs || seconds <= 0) return undefined
  const commits = b.commits.count - a.commits.count
  return {
    decisions: (decisionsOf(b) - decisionsOf(a)) / seconds,
    stale: (b.staleRejections - a.staleRejections) / seconds,
    raises: (b.raises - a.raises) / seconds,
    commitMs: commits > 0 ? (b.commits.sumMs - a.commits.sumMs) / commits : undefined,
  }
}

function decisionsOf({ decisions }: Status): number {
  return decisions.reduce((sum, { count }) => sum + count, 0)
}
