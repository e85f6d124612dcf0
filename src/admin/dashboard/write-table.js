/** Open writes: who, what and for how long. */
import { el, KeyedList, setText } from './dom.js'
import { duration, shortened } from './format.js'
import { twoLines } from './pieces.js'

/** @import { OpenWrite } from './types.js' */

/** @typedef {OpenWrite & { place: string }} PlacedWrite */

export class WriteTable {
  #rows = el('tbody')
  #list = new KeyedList(this.#rows, (/** @type {PlacedWrite} */ { place }) => place, writeRow)
  element = el(
    'table',
    {},
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        el('th', { class: 'w-time' }, 'Open for'),
        el('th', { class: 'w-token' }, 'Token'),
        el('th', {}, 'Write'),
      ),
    ),
    this.#rows,
  )

  /** @param {readonly OpenWrite[]} writes */
  show(writes) {
    const oldestFirst = writes.toSorted((a, b) => b.ageMs - a.ageMs)
    // They have no names: those that look alike are told apart by their places.
    const alike = new Map()
    this.#list.render(
      oldestFirst.map((write) => {
        const { route, method, target, token, operation = '' } = write
        const look = JSON.stringify([route, method, target, token, operation])
        const before = alike.get(look) ?? 0
        alike.set(look, before + 1)
        return { ...write, place: `${look} ${before}` }
      }),
    )
  }
}

/** @param {readonly OpenWrite[]} writes */
export function openWritesTable(writes) {
  const table = new WriteTable()
  table.show(writes)
  return table.element
}

/** @param {PlacedWrite} write */
function writeRow({ method, target, token, holder, route, operation }) {
  const age = el('td')
  const sent = el(
    'div',
    { class: 'mono clamp', title: `${method} ${target}` },
    `${method} ${shortened(target, 200)}`,
  )
  const more = `route ${route}${operation === undefined ? '' : `, operation ${operation}`}`
  const element = el(
    'tr',
    {},
    age,
    twoLines(el('span', { class: 'token-value' }, token), holder ?? ''),
    twoLines(sent, more),
  )
  return { element, update: (/** @type {PlacedWrite} */ now) => setText(age, duration(now.ageMs)) }
}
