/** All there is to know of one task, read again with each poll while it is open, and the acts on it. Its address names it. */

import { TASK_ACTS } from './acts.js'
import { ApiError } from './api.js'
import { button, byId, el, KeyedList, setText } from './dom.js'
import { Facts } from './facts.js'
import { counted, duration } from './format.js'
import { actOnTask, resolution } from './operations.js'
import { sign, taskInAddress, time, twoLines } from './pieces.js'
import { rejectionRowOfTask } from './rejections-panel.js'
import { WriteTable } from './write-table.js'

/** @import { ActDialog } from './act-dialog.js' */
/** @import { TaskActName } from './acts.js' */
/** @import { Api } from './api.js' */
/** @import { Poller } from './poller.js' */
/** @import { Entry, TaskPage, Unknown } from './types.js' */

/** Acts on the task that are shown. */
const ACTS_SHOWN = 10

export class TaskDialog {
  #api
  #poller
  #acts
  #dialog = /** @type {HTMLDialogElement} */ (byId('task-dialog'))
  /** @type {TaskView | undefined} */
  #view

  /**
   * @param {Api} api
   * @param {Poller} poller
   * @param {ActDialog} acts
   */
  constructor(api, poller, acts) {
    this.#api = api
    this.#poller = poller
    this.#acts = acts
    this.#dialog.addEventListener('close', () => this.#closed())
    poller.addEventListener('answered', () => void this.refresh())
    addEventListener('hashchange', () => this.#follow())
    this.#follow()
  }

  #follow() {
    const task = taskInAddress(location.hash)
    if (task === this.#view?.task) return
    if (task === undefined) return this.#dialog.close()
    this.#view = new TaskView(this.#api, this.#acts, task, () => this.#dialog.close())
    this.#dialog.replaceChildren(...this.#view.elements)
    if (!this.#dialog.open) this.#dialog.showModal()
    this.#dialog.scrollTop = 0
    void this.refresh()
  }

  #closed() {
    // It may have been opened again for another task before it is told of its close.
    if (this.#dialog.open) return
    this.#view = undefined
    this.#dialog.replaceChildren()
    if (taskInAddress(location.hash) !== undefined) history.replaceState(null, '', location.pathname)
  }

  async refresh() {
    const view = this.#view
    if (view) await view.refresh(this.#poller.heard.unknown)
  }
}

class TaskView {
  task
  elements
  #api
  #acts
  /** @type {TaskPage | undefined} */
  #page
  /** The answer to the last question only is shown. */
  #asked = 0
  #fault = el('p', { class: 'fault', role: 'alert', hidden: true })
  #facts = new Facts()
  #buttons
  #writes = new WriteTable()
  #noWrites = el('p', { class: 'empty' }, 'Asking the sidecar.')
  #heldSection = el('section', { hidden: true })
  #held
  #rejections = table(
    ['Time', 'Refused as', 'Token', 'From'],
    ({ seq }) => seq,
    rejectionRowOfTask,
    'No rejection of this task is on record.',
  )
  #record = table(['Time', 'Act', 'Reason'], ({ seq }) => seq, actRow, 'Nobody has acted on this task.')

  /**
   * @param {Api} api
   * @param {ActDialog} acts
   * @param {string} task
   * @param {() => void} close
   */
  constructor(api, acts, task, close) {
    this.task = task
    this.#api = api
    this.#acts = acts
    this.#buttons = this.#actButtons()
    const held = el('ul', { class: 'plain-list held' })
    this.#held = new KeyedList(
      held,
      (/** @type {Unknown} */ { id }) => id,
      (write) => this.#heldRow(write),
    )
    this.#heldSection.append(el('h3', {}, 'Unknown outcomes that keep the next holder out'), held)
    const heading = el('h2', { id: 'task-title' }, 'Task ', el('span', { class: 'task' }, task))
    this.elements = [
      el('div', { class: 'title' }, heading, button('Close', close, { 'aria-label': 'Close this task' })),
      el(
        'div',
        { class: 'content' },
        this.#fault,
        this.#facts.element,
        el('p', { class: 'buttons' }, ...this.#buttons.values()),
        this.#heldSection,
        section('Open writes', this.#writes.element, this.#noWrites),
        section('Latest rejections', this.#rejections.element, this.#rejections.empty),
        section('Acts on record', this.#record.element, this.#record.empty),
      ),
    ]
  }

  /** @returns {Map<TaskActName, HTMLButtonElement>} */
  #actButtons() {
    const names = /** @type {TaskActName[]} */ (Object.keys(TASK_ACTS))
    return new Map(
      names.map((name) => {
        const start = () => this.#page && this.#acts.open(actOnTask(this.#api, name, this.#page))
        return [name, button(TASK_ACTS[name].verb, start, { disabled: true, title: TASK_ACTS[name].summary })]
      }),
    )
  }

  /** @param {readonly Unknown[]} unknown all that the poll has heard of */
  async refresh(unknown) {
    const asked = ++this.#asked
    const query = new URLSearchParams({
      task: this.task,
      kind: 'act',
      order: 'newest',
      limit: String(ACTS_SHOWN),
    })
    try {
      /** @type {[TaskPage, { journal: Entry[] }]} */
      const [page, { journal }] = await Promise.all([
        this.#api.get(`/v1/tasks/${encodeURIComponent(this.task)}`),
        this.#api.get(`/v1/journal?${query}`),
      ])
      if (asked !== this.#asked) return
      this.#page = page
      this.#fault.hidden = true
      this.#show(page, journal)
      this.#showHeld(page, unknown)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setText(this.#fault, `This task could not be read: ${error.message}`)
      this.#fault.hidden = false
    }
  }

  /**
   * @param {TaskPage} page
   * @param {readonly Entry[]} acts
   */
  #show(page, acts) {
    const { mark, recorded, holder, frozen, passes, openWrites, open, usedAtMs } = page
    this.#facts.show([
      ['State', state(page)],
      ['Mark', recorded ? mark : `${mark}, where a task without a record starts`],
      ['Holder', holder ?? (recorded ? 'not named' : '–')],
      [frozen ? 'Passes once thawed' : 'Passes', `token ${passes} or above`],
      [
        'Open writes',
        openWrites === 0 ? 'none' : `${openWrites}, the oldest for ${duration(page.oldestOpenWriteMs)}`,
      ],
      ['Last used', usedAtMs === undefined ? '–' : time(usedAtMs)],
    ])
    for (const one of this.#buttons.values()) one.disabled = false
    this.#writes.show(open)
    this.#noWrites.hidden = open.length > 0
    setText(this.#noWrites, 'No write is open.')
    this.#rejections.show(page.rejections)
    this.#record.show(acts)
  }

  /**
   * @param {TaskPage} page
   * @param {readonly Unknown[]} unknown
   */
  #showHeld({ task, held }, unknown) {
    const known = new Map(unknown.map((write) => [write.id, write]))
    this.#heldSection.hidden = held.length === 0
    this.#held.render(
      held.map(
        ({ id, token }) =>
          known.get(id) ?? {
            id,
            task,
            token,
            holds: true,
            route: '',
            method: '',
            target: id,
            reason: 'unknown',
            admittedAtMs: 0,
            endedAtMs: 0,
          },
      ),
    )
  }

  /** @param {Unknown} write */
  #heldRow(write) {
    const { method, target, token } = write
    const resolve = button('Resolve', () => this.#acts.open(resolution(this.#api, write)), {
      'aria-label': `Resolve ${method} ${target}`,
    })
    const what = el('span', {}, el('span', { class: 'mono' }, `${method} ${target}`), `, token ${token}`)
    const element = el('li', {}, what, resolve)
    return { element, update: () => {} }
  }
}

/** @param {TaskPage} page */
function state({ frozen, recorded, complete, handover, held }) {
  const parts = []
  if (frozen) parts.push(sign('warn', 'Frozen: every write is refused'))
  if (held.length > 0) parts.push(sign('bad', `Held by ${counted(held.length, 'unknown outcome')}`))
  if (handover) parts.push(sign('warn', `Handover waits for ${duration(handover.waitedMs)}`))
  if (parts.length === 0 && recorded && !complete) parts.push(sign('warn', 'Handover not over'))
  if (parts.length === 0)
    parts.push(sign(recorded ? 'ok' : 'off', recorded ? 'Its holder can write' : 'No mark on record'))
  return el('div', { class: 'signs' }, ...parts)
}

/**
 * @param {string} title
 * @param {Node} list
 * @param {Node} empty
 */
function section(title, list, empty) {
  const scroll = el(
    'div',
    { class: 'scroll short', tabindex: '0', role: 'group', 'aria-label': title },
    list,
    empty,
  )
  return el('section', {}, el('h3', {}, title), scroll)
}

/**
 * @param {readonly string[]} columns
 * @param {(entry: Entry) => number} keyOf
 * @param {(entry: Entry) => import('./dom.js').Row<Entry>} row
 * @param {string} nothing
 */
function table(columns, keyOf, row, nothing) {
  const body = el('tbody')
  const list = new KeyedList(body, keyOf, row)
  const widths = /** @type {Record<string, string>} */ ({
    Time: 'w-time',
    Token: 'w-token',
    From: 'w-from',
    Act: 'w-from',
  })
  const head = columns.map((name) => el('th', { class: widths[name], scope: 'col' }, name))
  const empty = el('p', { class: 'empty' }, 'Asking the sidecar.')
  return {
    element: el('table', {}, el('thead', {}, el('tr', {}, ...head)), body),
    empty,
    /** @param {readonly Entry[]} entries */
    show(entries) {
      list.render(entries)
      empty.hidden = entries.length > 0
      setText(empty, nothing)
    },
  }
}

/** @param {Entry} entry */
function actRow({ atMs, token, data }) {
  const what = `${data.act ?? 'act'}${token === undefined ? '' : ` to ${token}`}`
  const element = el(
    'tr',
    {},
    el('td', {}, time(atMs)),
    twoLines(what, `by ${data.by ?? '–'}`),
    el('td', {}, String(data.reason ?? '')),
  )
  return { element, update: () => {} }
}
