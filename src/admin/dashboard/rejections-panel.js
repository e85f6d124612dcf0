/**
 * The list of the latest rejections. It stands still while somebody points at it, is in it by keyboard, or has paused
 * it; what came meanwhile is counted and shown afterwards.
 */
import { byId, el, KeyedList, setAttribute, setText } from './dom.js'
import { counted, grouped } from './format.js'
import { setSign, taskLink, time, twoLines } from './pieces.js'

/** @import { RejectionFeed } from './rejection-feed.js' */
/** @import { Entry } from './types.js' */

/** Where nothing points, a tap would leave the list held. */
const LOOKED_AT = matchMedia('(hover: hover)').matches ? ':hover, :focus-within' : ':focus-within'

/** @type {Readonly<Record<RejectionFeed['state'], ['ok' | 'warn' | 'bad' | 'off', string]>>} */
const STATES = {
  connecting: ['off', 'Connecting'],
  live: ['ok', 'Live'],
  polled: ['warn', 'All streams are taken: read every 5 s'],
  off: ['warn', 'Reconnecting'],
}

export class RejectionsPanel {
  #feed
  #scroll = byId('rejections-scroll')
  #state = byId('rejections-state')
  #pause = byId('rejections-pause')
  #empty = byId('rejections-empty')
  #list = new KeyedList(byId('rejections-rows'), (/** @type {Entry} */ { seq }) => seq, rejectionRow)
  #paused = false
  #shownSeq = 0

  /** @param {RejectionFeed} feed */
  constructor(feed) {
    this.#feed = feed
    feed.addEventListener('change', () => this.#render())
    this.#pause.addEventListener('click', () => this.#toggle())
    // The focus has its new place only after the event.
    for (const left of ['mouseleave', 'focusout'])
      this.#scroll.addEventListener(left, () => setTimeout(() => this.#render()))
  }

  #toggle() {
    this.#paused = !this.#paused
    setAttribute(this.#pause, 'aria-pressed', String(this.#paused))
    this.#render()
  }

  #render() {
    const { recent, state, filled } = this.#feed
    const held = this.#paused || (this.#shownSeq > 0 && this.#scroll.matches(LOOKED_AT))
    const waiting = recent.countAfter(this.#shownSeq)
    if (!held && waiting > 0) {
      this.#list.render(recent.entries)
      this.#shownSeq = recent.newestSeq
    }
    const [level, text] = STATES[state]
    if (held)
      setSign(
        this.#state,
        'warn',
        `Held${waiting > 0 ? `: ${counted(waiting, 'newer one', 'newer ones')}` : ''}`,
      )
    else setSign(this.#state, level, text)
    this.#empty.hidden = recent.entries.length > 0
    setText(this.#empty, filled ? 'No rejection is on record.' : 'Reading the journal.')
  }
}

/**
 * @param {Entry} entry an entry never changes
 * @returns {import('./dom.js').Row<Entry>}
 */
export function rejectionRow(entry) {
  const { code = '', route = 'none' } = texts(entry)
  const what = `${code}, route ${route}`
  return row(entry, twoLines(entry.task === undefined ? '–' : taskLink(entry.task), what))
}

/**
 * The same where the task is plain already.
 *
 * @param {Entry} entry
 */
export function rejectionRowOfTask(entry) {
  const { code = '', route = 'none' } = texts(entry)
  return row(entry, twoLines(code, `route ${route}`))
}

/** @param {Entry} entry */
function texts({ data }) {
  return /** @type {Record<string, string | undefined>} */ (data)
}

/**
 * @param {Entry} entry
 * @param {HTMLElement} what
 */
function row(entry, what) {
  const { seq, atMs, token, data } = entry
  const { highest, client = '', userAgent = '' } = texts(entry)
  const times = Number(data.count ?? 1)
  const element = el(
    'tr',
    { 'data-seq': String(seq) },
    twoLines(time(atMs), times > 1 ? `${grouped(times)} times` : ''),
    what,
    twoLines(
      el('span', { class: 'token-value' }, token ?? '–'),
      highest === undefined ? '' : el('span', { class: 'token-value' }, `against ${highest}`),
    ),
    twoLines(client, el('div', { class: 'clamp', title: userAgent }, userAgent)),
  )
  return { element, update: () => {} }
}
