/** Asks for the bearer token when it is first needed, or was refused; and the place in the bar that says if there is one. */
import { button, byId, el, setText } from './dom.js'

/** @import { TokenHolder } from './token.js' */

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

export class TokenDialog {
  #token
  #dialog = /** @type {HTMLDialogElement} */ (byId('token-dialog'))
  /** @type {((given: boolean) => void) | undefined} */
  #answer

  /** @param {TokenHolder} token */
  constructor(token) {
    this.#token = token
    this.#dialog.addEventListener('close', () => this.#closed())
    token.addEventListener('change', () => this.#showState())
    this.#showState()
  }

  /**
   * @param {string} why a sentence
   * @returns {Promise<boolean>} whether one was given
   */
  ask(why) {
    const dialog = this.#dialog
    const input = el('input', {
      type: 'password',
      autocomplete: 'off',
      spellcheck: 'false',
      'aria-describedby': 'token-hint',
      maxlength: '512',
    })
    const fault = el('p', { class: 'fault', role: 'alert', hidden: true })
    const form = el(
      'form',
      { method: 'dialog', novalidate: true },
      el('p', {}, why),
      el('label', {}, 'Bearer token', input),
      el(
        'p',
        { class: 'hint', id: 'token-hint' },
        'One of the tokens in the file that admin.tokenFile names. It is kept in this tab only, until the tab is closed or you forget it, and goes to this address only.',
      ),
      openNetwork()
        ? el(
            'p',
            { class: 'note' },
            'This page came over plain HTTP from another machine: the token would cross the network in the clear.',
          )
        : undefined,
      fault,
      el(
        'p',
        { class: 'buttons' },
        el('button', { type: 'submit', class: 'primary' }, 'Use this token'),
        button('Cancel', () => dialog.close()),
      ),
    )
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      const value = input.value.trim()
      fault.hidden = /^[!-~]+$/.test(value)
      if (!fault.hidden) {
        setText(fault, value === '' ? 'Give a token.' : 'A token has visible ASCII characters only.')
        return input.focus()
      }
      this.#token.keep(value)
      this.#end(true)
      dialog.close()
    })
    dialog.replaceChildren(
      el('div', { class: 'title' }, el('h2', { id: 'token-title' }, 'Token')),
      el('div', { class: 'content' }, form),
    )
    this.#end(false)
    if (!dialog.open) dialog.showModal()
    input.focus()
    return new Promise((resolve) => {
      this.#answer = resolve
    })
  }

  #closed() {
    if (this.#dialog.open) return
    this.#end(false)
    // What was typed isn't to be found in the page.
    this.#dialog.replaceChildren()
  }

  /** @param {boolean} given */
  #end(given) {
    this.#answer?.(given)
    this.#answer = undefined
  }

  #showState() {
    const place = byId('token-state')
    const hadFocus = place.contains(document.activeElement)
    if (this.#token.value === '') {
      place.replaceChildren(
        'No token',
        button('Enter', () => void this.ask('Acts need a bearer token.'), { 'aria-label': 'Enter a token' }),
      )
    } else {
      place.replaceChildren(
        'Token kept in this tab',
        button('Forget', () => this.#token.forget(), { 'aria-label': 'Forget the token' }),
      )
    }
    if (hadFocus) place.querySelector('button')?.focus()
  }
}

/** Whether what is sent may be read on its way. */
function openNetwork() {
  return location.protocol === 'http:' && !LOOPBACK.test(location.hostname)
}
