/** Search over all tasks, a page at a time: only the page that is shown is kept, and where those before it began. */
import { ApiError } from './api.js'
import { byId, el, KeyedList, setText } from './dom.js'
import { counted, localTime } from './format.js'
import { taskCells } from './lists-panel.js'
import { tasks } from './pages.js'
import { setSign } from './pieces.js'

/** @import { Api } from './api.js' */
/** @import { Task } from './types.js' */

const PAGE = 50
/** Pages that can be gone back to. */
const WAY_BACK = 500

export class SearchPanel {
  #api
  #text = /** @type {HTMLInputElement} */ (byId('search-text'))
  #state = /** @type {HTMLSelectElement} */ (byId('search-state'))
  #previous = /** @type {HTMLButtonElement} */ (byId('search-previous'))
  #next = /** @type {HTMLButtonElement} */ (byId('search-next'))
  #list = new KeyedList(byId('search-rows'), (/** @type {Task} */ { task }) => task, foundRow)
  #query = { search: '', state: '' }
  /** @type {(string | undefined)[]} where the pages before, and the one that is shown, begin */
  #way = [undefined]
  /** @type {string | undefined} */
  #follows
  /** The answer to the last question only is shown. */
  #asked = 0

  /** @param {Api} api */
  constructor(api) {
    this.#api = api
    byId('search-form').addEventListener('submit', (event) => {
      event.preventDefault()
      this.#query = { search: this.#text.value.trim(), state: this.#state.value }
      void this.#show([undefined])
    })
    this.#next.addEventListener(
      'click',
      () => void this.#show([...this.#way, this.#follows].slice(-WAY_BACK)),
    )
    this.#previous.addEventListener('click', () => void this.#show(this.#way.slice(0, -1)))
  }

  /** @param {(string | undefined)[]} way */
  async #show(way) {
    const asked = ++this.#asked
    const result = byId('search-result')
    setText(result, 'Searching.')
    try {
      const page = await tasks(this.#api, { ...this.#query, limit: PAGE, after: way.at(-1) })
      if (asked !== this.#asked) return
      this.#way = way
      this.#follows = page.next
      this.#list.render(page.tasks)
      byId('search-found').hidden = page.tasks.length === 0 && way.length === 1 && page.next === undefined
      setText(result, said(page, way.length))
      this.#turn()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (asked === this.#asked) setText(result, `The search failed: ${error.message}`)
    }
  }

  #turn() {
    const focused = document.activeElement
    this.#previous.disabled = this.#way.length === 1
    this.#next.disabled = this.#follows === undefined
    const dead =
      focused === this.#next ? this.#next.disabled : focused === this.#previous && this.#previous.disabled
    if (dead) (focused === this.#next ? this.#previous : this.#next).focus()
  }
}

/**
 * @param {{ tasks: readonly Task[], next: string | undefined }} page
 * @param {number} number of the page
 */
function said({ tasks, next }, number) {
  const now = Date.now()
  const of = `as of ${localTime(now, now)}`
  if (tasks.length > 0)
    return `Page ${number}: ${counted(tasks.length, 'task')}${next === undefined ? ', the last' : ''}, ${of}.`
  if (next !== undefined)
    return 'None among the tasks that were looked through; the next page goes on from there.'
  return `No task matches, ${of}. Capitals count.`
}

/** @param {Task} task */
function foundRow(task) {
  const { cells, update } = taskCells(task)
  const state = el('span')
  return {
    element: el('tr', {}, ...cells, el('td', {}, state)),
    update: (/** @type {Task} */ now) => {
      update(now)
      if (now.frozen) setSign(state, 'warn', 'frozen')
      else if (now.handover) setSign(state, 'warn', 'handover waits')
      else setSign(state, now.openWrites > 0 ? 'ok' : 'off', now.openWrites > 0 ? 'writing' : 'idle')
    },
  }
}
