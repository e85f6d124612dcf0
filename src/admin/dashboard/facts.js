/** A list of names and values that follows data without being built anew. */
import { el, setText } from './dom.js'

/** @typedef {readonly [name: string, value: string | Node]} Fact */

export class Facts {
  element = el('dl', { class: 'facts' })
  /** @type {Map<string, HTMLElement>} */
  #values = new Map()

  /** @param {readonly Fact[]} facts with the same names each time */
  show(facts) {
    for (const [name, value] of facts) {
      const place = this.#place(name)
      if (typeof value === 'string') setText(place, value)
      else if (
        place.textContent !== value.textContent ||
        place.firstElementChild?.className !== className(value)
      ) {
        place.replaceChildren(value)
      }
    }
  }

  /** @param {string} name */
  #place(name) {
    const known = this.#values.get(name)
    if (known) return known
    const place = el('dd')
    this.element.append(el('dt', {}, name), place)
    this.#values.set(name, place)
    return place
  }
}

/** @param {Node} node */
function className(node) {
  return node instanceof Element ? node.className : undefined
}
