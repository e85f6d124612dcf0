/** What is looked at less often, read when it is opened: decisions by route, the store, the configuration in force. */
import { ApiError } from './api.js'
import { button, byId, el, KeyedList, setText } from './dom.js'
import { Facts } from './facts.js'
import { grouped, size } from './format.js'
import { time } from './pieces.js'

/** @import { Api } from './api.js' */
/** @import { ConfigState, Decision, Status, StoreState } from './types.js' */

const ROUTES_SHOWN = 200

export class DetailsPanel {
  #api
  #routes = /** @type {HTMLDetailsElement} */ (byId('routes'))
  #rows = el('tbody')
  #decisions = new KeyedList(
    this.#rows,
    (/** @type {Decision} */ { route, decision }) => `${route} ${decision}`,
    decisionRow,
  )
  #none = el('p', { class: 'empty' }, 'No request has been decided on since the start.')
  /** @type {Status | undefined} */
  #status

  /** @param {Api} api */
  constructor(api) {
    this.#api = api
    const head = ['Route', 'Decision', 'Since the start'].map((name) => el('th', { scope: 'col' }, name))
    const table = el('table', {}, el('thead', {}, el('tr', {}, ...head)), this.#rows)
    body(this.#routes).append(table, this.#none)
    this.#routes.addEventListener('toggle', () => this.#showRoutes())
    this.#onOpen('store', async () => storeFacts(await this.#api.get('/v1/store')))
    this.#onOpen('config', async () => configFacts(await this.#api.get('/v1/config')))
  }

  /** @param {Status} status */
  show(status) {
    this.#status = status
    this.#showRoutes()
  }

  #showRoutes() {
    if (!this.#routes.open || !this.#status) return
    const sorted = this.#status.decisions.toSorted((a, b) => b.count - a.count)
    this.#decisions.render(sorted.slice(0, ROUTES_SHOWN))
    this.#none.hidden = sorted.length > 0
  }

  /**
   * @param {string} id
   * @param {() => Promise<Node[]>} read
   */
  #onOpen(id, read) {
    const details = /** @type {HTMLDetailsElement} */ (byId(id))
    const place = el('div', { 'aria-live': 'polite' })
    const show = async () => {
      try {
        place.replaceChildren(...(await read()))
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        place.replaceChildren(el('p', { class: 'fault' }, `It could not be read: ${error.message}`))
      }
    }
    body(details).append(
      place,
      el(
        'p',
        { class: 'buttons' },
        button('Read again', () => void show()),
      ),
    )
    details.addEventListener('toggle', () => {
      if (details.open) void show()
      else place.replaceChildren()
    })
  }
}

/** @param {HTMLDetailsElement} details */
function body(details) {
  const element = details.querySelector('.body')
  if (!element) throw new Error(`${details.id} has no body`)
  return element
}

/** @param {Decision} decision */
function decisionRow({ route, decision }) {
  const count = el('td')
  return {
    element: el('tr', {}, el('td', {}, route), el('td', { class: 'mono' }, decision), count),
    update: (/** @type {Decision} */ now) => setText(count, grouped(now.count)),
  }
}

/** @param {StoreState} store */
function storeFacts(store) {
  const facts = new Facts()
  const { created, unclean } = store
  facts.show([
    ['File', store.path],
    [
      'Made',
      created
        ? el('span', {}, time(store.createdAtMs), ', by this start: it knows no earlier token')
        : time(store.createdAtMs),
    ],
    ['Stop before', unclean ? 'unclean' : 'clean'],
    ['Schema', String(store.schema)],
    ['Tasks', `${grouped(store.tasks)}, ${grouped(store.frozen)} frozen`],
    ['Unresolved', grouped(store.unresolved)],
    ['Commit sequence', grouped(store.commitSequence)],
    ['Size', `${size(store.bytes)}, log ${size(store.walBytes)}`],
    ['Free on its disk', size(store.freeBytes)],
    ['Floor', store.floor],
    [
      'Floors of prefixes',
      store.floors.map(({ prefix, floor }) => `${prefix}: ${floor}`).join(', ') || 'none',
    ],
  ])
  return [facts.element]
}

/** @param {ConfigState} state */
function configFacts({ file, config, warnings, lastReload }) {
  const facts = new Facts()
  const reload = lastReload
    ? el(
        'span',
        {},
        time(lastReload.atMs),
        `, ${lastReload.cause}: ${lastReload.result}${lastReload.message ? `. ${lastReload.message}` : ''}`,
      )
    : 'none since the start'
  facts.show([
    ['File', file ?? 'none: flags and environment only'],
    ['Last reload', reload],
  ])
  const notes = warnings.map((warning) => el('p', { class: 'note' }, warning))
  return [facts.element, ...notes, el('pre', { tabindex: '0' }, JSON.stringify(config, null, 2))]
}
