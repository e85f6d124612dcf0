/** Tasks as a store in memory lists them: by name, in pages. */
import type { IdleQuery, IdleTask, ListedTask, Page, TasksQuery } from '../../src/journal/queries.ts'
import type { MemoryDisk } from './store-memory-disk.ts'

export function listTasks(disk: MemoryDisk, query: TasksQuery): Page<ListedTask, string> {
  const { search = '', frozen, limit, after } = query
  const names = [...new Set([...disk.marks.keys(), ...disk.frozen])].filter((task) => task.includes(search))
  const rows = names.map((task) => ({
    task,
    ...disk.mark(task),
    frozen: disk.frozen.has(task),
    usedAtMs: disk.usedAtMs.get(task),
  }))
  return page(
    rows.filter((row) => frozen === undefined || row.frozen === frozen),
    limit,
    after,
  )
}

export function listIdle(
  disk: MemoryDisk,
  { prefix, beforeMs, limit, after }: IdleQuery,
): Page<IdleTask, string> {
  const idle = [...disk.marks].filter(
    ([task]) => task.startsWith(prefix) && disk.isIdle(task) && (disk.usedAtMs.get(task) ?? 0) < beforeMs,
  )
  return page(
    idle.map(([task, { token }]) => ({ task, token })),
    limit,
    after,
  )
}

function page<T extends { readonly task: string }>(rows: T[], limit: number, after: string): Page<T, string> {
  const found = rows
    .filter(({ task }) => task > after)
    .sort((a, b) => (a.task < b.task ? -1 : 1))
    .slice(0, limit)
  return { rows: found, next: found.length < limit ? undefined : found.at(-1)?.task }
}
