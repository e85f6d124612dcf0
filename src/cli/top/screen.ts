/**
 * What `top` shows, as lines. Invariant: never more lines, and none longer, than the terminal has; whatever others
 * wrote has but printable ASCII left, so that a character is a column.
 */
import { describeTask } from '../task.ts'
import { span } from '../words.ts'
import { chosenIndex, rowsOf, type TopState } from './state.ts'
import { rejectionTable, taskTable } from './tables.ts'
import { fit, flow, wrapped } from './text.ts'

export interface Size {
  readonly columns: number
  /** Infinity: all of it, and no keys, as for a file. */
  readonly rows: number
}

const BOLD = '1'
const INVERSE = '7'
const RED = '31'
const YELLOW = '33'

/** @param colour whether the terminal should be told of more than characters. */
export function render(state: TopState, size: Size, colour: boolean): string[] {
  const style = (code: string, text: string) => (colour ? `\x1b[${code}m${text}\x1b[0m` : text)
  const cut = (text: string) => fit(text, size.columns)
  const head = headOf(state, size.columns)
  const foot = size.rows === Infinity ? [] : [{ text: keysOf(state), code: INVERSE }]
  const height = Math.max(0, size.rows - head.length - foot.length)
  const body = state.page ? pageLines(state, size.columns, height) : listLines(state, size.columns, height)
  const lines: Line[] = [...head, ...body, ...foot]
  return lines.slice(0, size.rows).map(({ text, code }) => (code ? style(code, cut(text)) : cut(text)))
}

/** How far the page can be scrolled; 0 where there is none. */
export function maxScroll(state: TopState, { columns, rows }: Size): number {
  if (!state.page) return 0
  return Math.max(0, wholePage(state, columns).length - (rows - headOf(state, columns).length - 1))
}

interface Line {
  readonly text: string
  readonly code?: string
}

function headOf({ name, sample: { status }, rates, lost, paused }: TopState, columns: number): Line[] {
  const { openWrites, oldestOpenWriteMs: oldest, handoversPending, frozen, unresolved, tasks } = status
  const place = [
    `fencegate ${status.version} at ${name}`,
    `${status.phase}${status.grace ? ', in grace' : ''}`,
    `up ${span(status.nowMs - status.startedAtMs)}`,
    paused ? 'PAUSED' : '',
  ]
  const speeds = [
    `decisions/s ${rate(rates?.decisions)}`,
    `stale/s ${rate(rates?.stale)}`,
    `raises/s ${rate(rates?.raises)}`,
    rates?.commitMs === undefined ? '' : `commit ${rates.commitMs.toFixed(1)} ms`,
  ]
  const counts = [
    `open writes ${openWrites}${oldest === undefined ? '' : `, oldest ${span(oldest)}`}`,
    ...[`handovers ${handoversPending}`, `frozen ${frozen}`, `unknown ${unresolved}`],
    ...[`stale ${status.staleRejections}`, `tasks ${tasks}`],
  ]
  const isStale = rates !== undefined && rates.stale > 0
  const gone = lost && `No newer look for ${span(lost.forMs)}, asking again: ${lost.message}`
  return [
    ...flow(place, columns).map((text) => ({ text, code: BOLD })),
    ...flow(speeds, columns).map((text) => (isStale ? { text, code: RED } : { text })),
    ...flow(counts, columns).map((text) => ({ text })),
    ...(gone ? wrapped(gone, columns).map((text) => ({ text, code: YELLOW })) : []),
  ]
}

function rate(perSecond: number | undefined): string {
  if (perSecond === undefined) return '-'
  return perSecond < 10 ? perSecond.toFixed(1) : perSecond.toFixed(0)
}

function keysOf({ page, paused }: TopState): string {
  const pause = paused ? 'p go on' : 'p pause'
  return page ? `q back  ${pause}  up/down scroll` : `q quit  ${pause}  up/down choose  Enter task`
}

function listLines({ sample, chosen }: TopState, columns: number, height: number): Line[] {
  const { tasks, rejections } = sample
  // In a file nothing can be chosen.
  const index = height === Infinity ? -1 : chosenIndex(rowsOf(sample), chosen)
  // One line for each of the titles, and an empty one between.
  const room = Math.max(2, height - 3)
  const forTasks = Math.min(
    Math.max(1, tasks.length),
    Math.max(Math.ceil(room / 2), room - rejections.length),
  )
  const taskRows = choosable(taskTable(tasks, columns), index)
  const rejectionRows = choosable(rejectionTable(rejections, columns), index - tasks.length)
  const none = (text: string) => [{ text: `  ${text}` }]
  return [
    { text: 'TASKS with open writes, the oldest first; waiting; frozen', code: BOLD },
    ...(tasks.length > 0 ? windowOf(taskRows, forTasks, index) : none('none')),
    { text: '' },
    { text: 'REJECTIONS, the latest first', code: BOLD },
    ...(rejections.length > 0
      ? windowOf(rejectionRows, room - forTasks, index - tasks.length)
      : none('none on record')),
  ]
}

function choosable(lines: readonly string[], index: number): Line[] {
  return lines.map((text, i) => (i === index ? { text: `> ${text}`, code: INVERSE } : { text: `  ${text}` }))
}

/** As many of the lines as there is room for: with the chosen one, if it is one of them. */
function windowOf(lines: readonly Line[], room: number, index: number): readonly Line[] {
  if (lines.length <= room) return lines
  if (index < 0 || index >= lines.length) return lines.slice(0, room)
  const start = Math.min(Math.max(0, index - Math.floor(room / 2)), lines.length - room)
  return lines.slice(start, start + room)
}

function pageLines(state: TopState, columns: number, height: number): Line[] {
  const all = wholePage(state, columns)
  const start = Math.min(state.page?.scroll ?? 0, Math.max(0, all.length - height))
  return all.slice(start, start + height).map((text) => ({ text }))
}

function wholePage({ page, sample }: TopState, columns: number): string[] {
  if (sample.page === undefined || sample.page.task !== page?.task) return ['asking ...']
  const lines = describeTask(sample.page).flatMap((text) => text.split('\n'))
  return ['', ...lines].flatMap((line) => wrapped(line, columns))
}
