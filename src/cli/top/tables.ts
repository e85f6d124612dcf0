/** The tables of `top`: tasks, and rejections. What matters most comes first, since a narrow screen cuts the rest. */
import type { Entry, Task } from '../api.ts'
import { stateOf } from '../tasks.ts'
import { span } from '../words.ts'
import { aligned } from './text.ts'

export function taskTable(tasks: readonly Task[], columns: number): string[] {
  return aligned(
    tasks.map((task) => [
      task.task,
      `mark ${task.mark}`,
      task.openWrites > 0 ? `open ${task.openWrites}` : '',
      task.oldestOpenWriteMs === undefined ? '' : span(task.oldestOpenWriteMs),
      stateOf(task),
      task.holder ?? '',
    ]),
    columns,
  )
}

export function rejectionTable(rejections: readonly Entry[], columns: number): string[] {
  return aligned(
    rejections.map(({ atMs, task = '', token = '', data }) => {
      const { code, highest, count, client, userAgent } = data
      const times = Number(count) > 1 ? `x${count}` : ''
      return [
        ...[new Date(atMs).toISOString().slice(11, 19), task, against(token, highest)],
        ...[times, code === 'stale-token' ? '' : text(code), text(client), text(userAgent)],
      ]
    }),
    columns,
  )
}

/** The token, and how it stands to the highest one. */
function against(token: string, highest: unknown): string {
  if (typeof highest !== 'string' || !/^\d+$/.test(token + highest)) return token
  const [a, b] = [BigInt(token), BigInt(highest)]
  return `${token} ${a < b ? '<' : a > b ? '>' : '='} ${highest}`
}

function text(value: unknown): string {
  return value === undefined ? '' : String(value)
}
