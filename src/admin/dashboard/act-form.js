/** The fields of an act: a token or a choice where it needs one, and always a reason. Enter goes on. */
import { MAX_REASON, reasonFault } from './acts.js'
import { el, setAttribute, setText } from './dom.js'

/** @import { TokenField, Values } from './acts.js' */

/**
 * @typedef {object} Form
 * @property {TokenField | undefined} [field]
 * @property {readonly { value: string, label: string, effect: string }[]} [choices] their value is `resolution`
 * @property {(values: Values) => string | undefined} check
 */

export class ActForm {
  element
  #form
  #goOn
  #fault = el('p', { class: 'fault', role: 'alert', hidden: true })
  #reason = el('textarea', {
    name: 'reason',
    rows: '3',
    maxlength: String(MAX_REASON),
    'aria-required': 'true',
  })

  /**
   * @param {string} summary
   * @param {Form} form
   * @param {(values: Values) => void} goOn
   */
  constructor(summary, form, goOn) {
    this.#form = form
    this.#goOn = goOn
    this.element = el(
      'form',
      { novalidate: true },
      el('p', {}, summary),
      form.field && tokenInput(form.field),
      form.choices && choiceInputs(form.choices),
      el('label', {}, 'Reason', this.#reason),
      this.#fault,
      el('p', { class: 'buttons' }, el('button', { type: 'submit', class: 'primary' }, 'Go on')),
    )
    this.element.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#submit()
    })
    // In a field of several lines Enter makes a line; here it goes on, and with Shift it makes one.
    this.#reason.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      this.element.requestSubmit()
    })
  }

  /** The first field. */
  focus() {
    const field = this.element.querySelector('input') ?? this.#reason
    field.focus()
  }

  #submit() {
    const values = Object.fromEntries(
      [...new FormData(this.element)].map(([name, value]) => [name, String(value).trim()]),
    )
    const own = this.#form.check(values)
    const fault = own ?? reasonFault(values.reason ?? '')
    const input = this.element.querySelector('input')
    if (input) setAttribute(input, 'aria-invalid', own !== undefined && 'true')
    setAttribute(this.#reason, 'aria-invalid', own === undefined && fault !== undefined && 'true')
    this.#fault.hidden = fault === undefined
    setText(this.#fault, fault ?? '')
    if (fault === undefined) this.#goOn(values)
    else (own === undefined ? this.#reason : input)?.focus()
  }
}

/** @param {TokenField} field */
function tokenInput({ name, label, hint, value, required }) {
  const input = el('input', {
    name,
    value,
    class: 'mono',
    inputmode: 'numeric',
    autocomplete: 'off',
    maxlength: '19',
    'aria-required': String(required),
    'aria-describedby': 'act-hint',
  })
  return el('div', {}, el('label', {}, label, input), el('p', { class: 'hint', id: 'act-hint' }, hint))
}

/** @param {NonNullable<Form['choices']>} choices */
function choiceInputs(choices) {
  return el(
    'fieldset',
    {},
    el('legend', {}, 'What became of it'),
    ...choices.map(({ value, label, effect }) =>
      el(
        'label',
        { class: 'choice' },
        el('input', { type: 'radio', name: 'resolution', value }),
        el('span', {}, label, el('span', { class: 'hint' }, ` ${effect}`)),
      ),
    ),
  )
}
