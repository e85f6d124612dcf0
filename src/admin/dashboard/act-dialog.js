/**
 * One act in its steps: what it asks for, what it will do, what came of it. A step that leads to another act (a reset
 * has two) goes through the same confirmation again.
 *
 * Invariants: nothing is sent before it was confirmed; while something is under way the dialog stays; when nobody knows
 * whether the act was done, it says so.
 */
import { ActForm } from './act-form.js'
import { ApiError } from './api.js'
import { button, byId, el } from './dom.js'
import { duration, sentence } from './format.js'

/** @import { TokenDialog } from './token-dialog.js' */
/** @import { TokenHolder } from './token.js' */
/** @import { Values } from './acts.js' */
/** @import { Form } from './act-form.js' */

/**
 * @typedef {object} Step
 * @property {string} verb on the button that does it
 * @property {string[]} effects
 * @property {boolean} [dangerous]
 * @property {() => Promise<Outcome>} send
 *
 * @typedef {{ said: Node[], next?: Step }} Outcome
 *
 * @typedef {object} Act
 * @property {string} title
 * @property {string} about whom or what it is about, as data
 * @property {string} summary
 * @property {Form} form
 * @property {(values: Values) => Step} step
 */

export class ActDialog {
  #token
  #tokenDialog
  #done
  #dialog = /** @type {HTMLDialogElement} */ (byId('act-dialog'))
  #content = el('div', { class: 'content' })
  #sending = false

  /**
   * @param {TokenHolder} token
   * @param {TokenDialog} tokenDialog
   * @param {() => void} done called after each act
   */
  constructor(token, tokenDialog, done) {
    this.#token = token
    this.#tokenDialog = tokenDialog
    this.#done = done
    this.#dialog.addEventListener('cancel', (event) => {
      if (this.#sending) event.preventDefault()
    })
  }

  /** @param {Act} act */
  open({ title, about, summary, form, step }) {
    // A browser may close a dialog against our will: what is under way there comes first.
    if (this.#sending) return this.#dialog.open ? undefined : this.#dialog.showModal()
    const close = button('Close', () => this.#close(), { 'aria-label': 'Close this act' })
    const heading = el('h2', { id: 'act-title' }, `${title} `, el('span', { class: 'task' }, about))
    this.#dialog.replaceChildren(el('div', { class: 'title' }, heading, close), this.#content)
    const fields = new ActForm(summary, form, (values) =>
      this.#confirm(step(values), values.reason ?? '', back),
    )
    const back = () => {
      this.#content.replaceChildren(fields.element)
      fields.focus()
    }
    back()
    if (!this.#dialog.open) this.#dialog.showModal()
    fields.focus()
  }

  #close() {
    if (!this.#sending) this.#dialog.close()
  }

  /**
   * @param {Step} step
   * @param {string} reason
   * @param {(() => void) | undefined} back
   * @param {Node[]} before what the step before said
   */
  #confirm(step, reason, back, before = []) {
    const fault = el('p', { class: 'fault', role: 'alert', hidden: true })
    const go = button(step.verb, () => void this.#send(step, reason, { go, fault, other }), {
      class: step.dangerous ? 'primary dangerous' : 'primary',
    })
    const other = back ? button('Back', back) : button('Leave it', () => this.#close())
    this.#content.replaceChildren(
      ...before,
      el('p', {}, 'This will happen:'),
      el('ul', { class: 'effects' }, ...step.effects.map((effect) => el('li', {}, effect))),
      el('p', {}, 'On record, with your name:'),
      el('p', { class: 'quote' }, reason),
      fault,
      el('p', { class: 'buttons' }, go, other),
    )
    go.focus()
  }

  /**
   * @param {Step} step
   * @param {string} reason
   * @param {{ go: HTMLButtonElement, other: HTMLButtonElement, fault: HTMLElement }} shown
   * @returns {Promise<void>}
   */
  async #send(step, reason, { go, other, fault }) {
    if (this.#sending) return
    if (this.#token.value === '' && !(await this.#tokenDialog.ask('Acts need a bearer token.')))
      return go.focus()
    this.#busy(true, go, other)
    fault.hidden = true
    try {
      const outcome = await step.send()
      this.#busy(false, go, other)
      this.#show(outcome, reason)
    } catch (error) {
      this.#busy(false, go, other)
      if (error instanceof ApiError && error.status === 401) {
        const again = await this.#tokenDialog.ask(
          'The sidecar does not know that token; nothing was done. Give another one.',
        )
        if (again) return this.#send(step, reason, { go, other, fault })
      }
      fault.textContent = explained(error)
      fault.hidden = false
      go.focus()
    } finally {
      this.#done()
    }
  }

  /**
   * @param {boolean} sending
   * @param {HTMLButtonElement[]} buttons
   */
  #busy(sending, ...buttons) {
    this.#sending = sending
    this.#content.setAttribute('aria-busy', String(sending))
    for (const one of buttons) one.disabled = sending
  }

  /**
   * @param {Outcome} outcome
   * @param {string} reason
   */
  #show({ said, next }, reason) {
    if (next) return this.#confirm(next, reason, undefined, said)
    const close = button('Close', () => this.#close(), { class: 'primary' })
    const answer = el('div', { role: 'status' })
    this.#content.replaceChildren(answer, el('p', { class: 'buttons' }, close))
    answer.append(...said)
    close.focus()
  }
}

/**
 * @param {unknown} error
 * @returns {string} what came of it, and what to do
 */
export function explained(error) {
  if (!(error instanceof ApiError)) throw error
  const { status, message, retryAfterMs } = error
  const later = retryAfterMs === undefined ? 'later' : `in ${duration(retryAfterMs)}`
  if (status === 0) {
    return `Nobody knows whether it was done: ${sentence(message)} Look at the task; to do it again is safe, it is done once.`
  }
  if (status === 401) return 'The sidecar does not know that token; nothing was done.'
  if (status === 429) {
    return `Nothing was done: too many wrong tokens came from this address, and the sidecar hears none for now. Try again ${later}.`
  }
  if (status === 503) {
    return `The sidecar could not do it: ${sentence(message)} Try again ${later}: it is done once, however often it is sent.`
  }
  return `Nothing was done: ${sentence(message)}`
}
