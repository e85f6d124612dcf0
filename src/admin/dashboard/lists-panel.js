/** The lists that follow the poll: open writes and handovers, frozen tasks, unknown outcomes. */
import { button, byId, el, KeyedList, setText } from './dom.js'
import { counted, duration, grouped, shortened } from './format.js'
import { setSign, taskLink, time, twoLines } from './pieces.js'

/** @import { Heard } from './poller.js' */
/** @import { Status, Task, Unknown } from './types.js' */

/** Rows that a list shows; the search below has the rest. */
const SHOWN = 50
/** How an unknown outcome came about, by its recorded reason. */
const REASONS = /** @type {Record<string, string>} */ ({
  'connection-lost': 'connection lost',
  timeout: 'no answer in time',
  'client-left': 'client left before its body was whole',
  superseded: 'cut by a handover',
  frozen: 'cut by a freeze',
  status: 'answer that does not tell',
  restart: 'open when the sidecar stopped',
})

/** @param {string} reason */
export const reasonText = (reason) => REASONS[reason] ?? reason

export class ListsPanel {
  #open = taskList('in-progress', progressRow, 'No write is open, no handover waits.')
  #frozen = taskList('frozen', frozenRow, 'No task is frozen.')
  /** @type {ReturnType<typeof taskList<Unknown>>} */
  #unknown

  /** @param {(write: Unknown) => void} resolve asked to resolve one */
  constructor(resolve) {
    this.#unknown = taskList('unknown', (write) => unknownRow(write, resolve), 'No outcome is unknown.')
  }

  /** @param {Heard & { status: Status }} heard */
  show({ status, open, pending, frozen, unknown }) {
    const byName = new Map([...open.tasks, ...pending.tasks].map((task) => [task.task, task]))
    const more = open.next === undefined && pending.next === undefined ? 0 : 1
    const known = [...byName.values()].toSorted(mostUrgentFirst)
    this.#open(known, openCount(status), known.length + more)
    this.#frozen(frozen.tasks, counted(status.frozen, 'task'), status.frozen)
    this.#unknown(unknown, counted(status.unresolved, 'unresolved', 'unresolved'), status.unresolved)
  }
}

/**
 * @template {{ task: string, id?: string }} T
 * @param {string} name of its elements
 * @param {(item: T) => import('./dom.js').Row<T>} row
 * @param {string} nothing what an empty list says
 */
function taskList(name, row, nothing) {
  const list = new KeyedList(byId(`${name}-rows`), ({ task, id }) => id ?? task, row)
  const empty = byId(`${name}-empty`)
  const count = byId(`${name}-count`)
  setText(empty, 'Asking the sidecar.')
  /**
   * @param {readonly T[]} items
   * @param {string} counts
   * @param {number} [total]
   */
  return (items, counts, total = items.length) => {
    const shown = items.slice(0, SHOWN)
    list.render(shown)
    empty.hidden = shown.length > 0
    setText(empty, nothing)
    const all = total > shown.length ? `, the first ${shown.length} here` : ''
    setText(count, items.length === 0 ? '' : `${counts}${all}`)
  }
}

/** @param {Status} status */
function openCount({ openWrites, handoversPending }) {
  return `${grouped(openWrites)} open, ${counted(handoversPending, 'handover waits', 'handovers wait')}`
}

/**
 * @param {Task} a
 * @param {Task} b
 */
function mostUrgentFirst(a, b) {
  const waited = (b.handover?.waitedMs ?? -1) - (a.handover?.waitedMs ?? -1)
  return waited || (b.oldestOpenWriteMs ?? 0) - (a.oldestOpenWriteMs ?? 0) || (a.task < b.task ? -1 : 1)
}

/**
 * Task, mark and open writes: how the rows of all lists of tasks begin.
 *
 * @param {Task} task
 */
export function taskCells({ task }) {
  const holder = el('span')
  const mark = el('td', { class: 'token-value' })
  const open = el('span')
  const oldest = el('span')
  /** @param {Task} now */
  const update = (now) => {
    setText(holder, now.holder === undefined ? '' : `held by ${now.holder}`)
    setText(mark, now.mark)
    setText(open, grouped(now.openWrites))
    setText(oldest, now.openWrites === 0 ? '' : `for ${duration(now.oldestOpenWriteMs)}`)
  }
  return { cells: [twoLines(taskLink(task), holder), mark, twoLines(open, oldest)], update }
}

/** @param {Task} task */
function progressRow(task) {
  const { cells, update } = taskCells(task)
  const handover = el('span')
  return {
    element: el('tr', {}, ...cells, el('td', {}, handover)),
    update: (/** @type {Task} */ now) => {
      update(now)
      if (now.handover) setSign(handover, 'warn', `waits ${duration(now.handover.waitedMs)}`)
      else setText(handover, '–')
      if (!now.handover) handover.className = 'muted'
    },
  }
}

/** @param {Task} task */
function frozenRow(task) {
  const { cells, update } = taskCells(task)
  return { element: el('tr', {}, ...cells), update }
}

/**
 * @param {Unknown} write
 * @param {(write: Unknown) => void} resolve
 */
function unknownRow(write, resolve) {
  const { method, target, reason, endedAtMs, task, token, holder, holds, id } = write
  const sent = el(
    'div',
    { class: 'mono clamp', title: `${method} ${target}` },
    `${method} ${shortened(target, 200)}`,
  )
  const by = `token ${token}${holder === undefined ? '' : `, ${holder}`}`
  const element = el(
    'tr',
    { 'data-id': id },
    twoLines(sent, el('span', {}, time(endedAtMs), `, ${reasonText(reason)}`)),
    twoLines(taskLink(task), holds ? `${by}; keeps the next holder out` : by),
    el(
      'td',
      {},
      button('Resolve', () => resolve(write), { 'aria-label': `Resolve the write of ${task}` }),
    ),
  )
  return { element, update: () => {} }
}
