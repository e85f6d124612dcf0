/**
 * The bearer token, as long as this tab is open: in `sessionStorage` only, so that it goes with the tab and no other one
 * has it. Whose it is, the page doesn't know: the sidecar says so in its record of an act.
 */

const KEY = 'fencegate-token'

export class TokenHolder extends EventTarget {
  /** Where the browser keeps nothing for pages, the page itself does. */
  #unkept = ''

  get value() {
    try {
      return sessionStorage.getItem(KEY) ?? this.#unkept
    } catch {
      return this.#unkept
    }
  }

  /** @param {string} token */
  keep(token) {
    this.#unkept = ''
    try {
      sessionStorage.setItem(KEY, token)
    } catch {
      this.#unkept = token
    }
    this.dispatchEvent(new Event('change'))
  }

  forget() {
    this.#unkept = ''
    try {
      sessionStorage.removeItem(KEY)
    } catch {
      // There was nothing to forget.
    }
    this.dispatchEvent(new Event('change'))
  }
}
