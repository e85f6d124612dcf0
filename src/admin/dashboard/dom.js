/**
 * Elements, and lists of them that follow data.
 *
 * Invariant: data becomes text or a plain attribute, never markup: task names, agents and targets are what anybody
 * outside may have sent.
 */

/** @typedef {Node | string | undefined} Child `undefined` is left out */
/** @typedef {Record<string, string | boolean | undefined>} Attributes `true` is an empty one; `undefined` and `false` none */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) setAttribute(element, attribute, value)
  for (const child of children) if (child !== undefined) element.append(child)
  return element
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {string | boolean | undefined} value
 */
export function setAttribute(element, name, value) {
  if (value === undefined || value === false) element.removeAttribute(name)
  else if (element.getAttribute(name) !== String(value === true ? '' : value)) {
    element.setAttribute(name, value === true ? '' : value)
  }
}

/**
 * Touches the page only where the text differs, so that a selection in it stays.
 *
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/**
 * An element of the page itself.
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const element = document.getElementById(id)
  if (!element) throw new Error(`the page has no element ${id}`)
  return /** @type {T} */ (element)
}

/**
 * @param {string} label
 * @param {() => void} clicked
 * @param {Attributes} [attributes]
 */
export function button(label, clicked, attributes = {}) {
  const element = el('button', { type: 'button', ...attributes }, label)
  element.addEventListener('click', clicked)
  return element
}

/**
 * @template T
 * @typedef {{ element: HTMLElement, update: (item: T) => void }} Row
 */

/**
 * The children of one element, one for each item. A child stays as long as its item's key is there: focus, hover and
 * selection outlive a refresh.
 *
 * @template T
 */
export class KeyedList {
  #parent
  #keyOf
  #create
  /** @type {Map<string | number, Row<T>>} */
  #rows = new Map()

  /**
   * @param {HTMLElement} parent has no other children
   * @param {(item: T) => string | number} keyOf
   * @param {(item: T) => Row<T>} create
   */
  constructor(parent, keyOf, create) {
    this.#parent = parent
    this.#keyOf = keyOf
    this.#create = create
  }

  /** @param {readonly T[]} items in order; keys differ */
  render(items) {
    const focused = document.activeElement
    const hadFocus = this.#parent.contains(focused)
    this.#dropOthers(new Set(items.map(this.#keyOf)))
    /** @type {Element | null} */
    let place = this.#parent.firstElementChild
    for (const item of items) {
      const { element, update } = this.#rowOf(item)
      if (element === place) place = place.nextElementSibling
      else this.#parent.insertBefore(element, place)
      update(item)
    }
    if (!hadFocus || document.activeElement === focused) return
    // Its row was moved, or is gone: then the list itself is the nearest place to go on from.
    const back = focused?.isConnected ? focused : this.#parent.closest('[tabindex]')
    if (back instanceof HTMLElement) back.focus({ preventScroll: true })
  }

  /** @param {T} item */
  #rowOf(item) {
    const key = this.#keyOf(item)
    const row = this.#rows.get(key) ?? this.#create(item)
    this.#rows.set(key, row)
    return row
  }

  /** @param {Set<string | number>} keys */
  #dropOthers(keys) {
    for (const [key, { element }] of this.#rows) {
      if (keys.has(key)) continue
      element.remove()
      this.#rows.delete(key)
    }
  }
}
