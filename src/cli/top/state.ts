/** What `top` shows, and how looks and keys change it. Pure: no terminal, no clock. */
import { type Rates, ratesBetween, type Sample } from './sample.ts'

export interface TopState {
  /** Which sidecar it is. */
  readonly name: string
  readonly sample: Sample
  readonly rates: Rates | undefined
  /** Why there was no newer look, and since when (monotonic). */
  readonly lost: { readonly message: string; readonly sinceMs: number; readonly forMs: number } | undefined
  readonly paused: boolean
  /** The key of the chosen row. */
  readonly chosen: string | undefined
  /** The task whose page is shown, and the first line of it that is. */
  readonly page: { readonly task: string; readonly scroll: number } | undefined
}

export type Key = 'up' | 'down' | 'page-up' | 'page-down' | 'enter' | 'back' | 'pause'

export interface Row {
  readonly key: string
  readonly task: string | undefined
}

const PAGE = 10

export function firstState(name: string, sample: Sample): TopState {
  return {
    ...{ name, sample, rates: undefined, lost: undefined },
    ...{ paused: false, chosen: undefined, page: undefined },
  }
}

export function seen(state: TopState, sample: Sample): TopState {
  return { ...state, sample, rates: ratesBetween(state.sample, sample), lost: undefined }
}

export function lost(state: TopState, message: string, nowMs: number): TopState {
  const sinceMs = state.lost?.sinceMs ?? state.sample.atMs
  return { ...state, rates: undefined, lost: { message, sinceMs, forMs: nowMs - sinceMs } }
}

/** The rows that can be chosen, from top to bottom. */
export function rowsOf({ tasks, rejections }: Sample): Row[] {
  return [
    ...tasks.map(({ task }) => ({ key: `task ${task}`, task })),
    ...rejections.map(({ seq, task }) => ({ key: `rejection ${seq}`, task })),
  ]
}

/** Where the chosen row is now; the first one if it has gone. */
export function chosenIndex(rows: readonly Row[], chosen: string | undefined): number {
  return Math.max(
    0,
    rows.findIndex(({ key }) => key === chosen),
  )
}

/** @param maxScroll how far the page can be scrolled on the screen as it is. */
export function pressed(state: TopState, key: Key, maxScroll: number): TopState {
  if (key === 'pause') return { ...state, paused: !state.paused }
  return state.page ? pressedOnPage(state, state.page, key, maxScroll) : pressedOnList(state, key)
}

function pressedOnPage(
  state: TopState,
  page: NonNullable<TopState['page']>,
  key: Key,
  maxScroll: number,
): TopState {
  if (key === 'back') return { ...state, page: undefined }
  const scroll = Math.min(Math.max(0, page.scroll + stepOf(key)), maxScroll)
  return { ...state, page: { ...page, scroll } }
}

function pressedOnList(state: TopState, key: Key): TopState {
  const rows = rowsOf(state.sample)
  const index = chosenIndex(rows, state.chosen)
  const task = rows[index]?.task
  if (key === 'enter' && task !== undefined) {
    return { ...state, chosen: rows[index]?.key, page: { task, scroll: 0 } }
  }
  const next = rows[Math.min(Math.max(0, index + stepOf(key)), rows.length - 1)]
  return next ? { ...state, chosen: next.key } : state
}

function stepOf(key: Key): number {
  return { up: -1, down: 1, 'page-up': -PAGE, 'page-down': PAGE, enter: 0, back: 0, pause: 0 }[key]
}
