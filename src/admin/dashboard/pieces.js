/** Small parts that several panels show alike: times, task names as links, cells with a second line, signs. */
import { el, setAttribute, setText } from './dom.js'
import { localTime, utcTime } from './format.js'

/**
 * @param {number} atMs
 * @returns {HTMLTimeElement} local time; UTC on hover
 */
export function time(atMs) {
  const element = el('time')
  setTime(element, atMs)
  return element
}

/**
 * @param {HTMLTimeElement} element
 * @param {number} atMs
 */
export function setTime(element, atMs) {
  setText(element, localTime(atMs, Date.now()))
  setAttribute(element, 'datetime', new Date(atMs).toISOString())
  setAttribute(element, 'title', utcTime(atMs))
}

/** @param {string} task */
export function taskAddress(task) {
  return `#task=${encodeURIComponent(task)}`
}

/**
 * @param {string} hash the address's
 * @returns {string | undefined} the task that it names
 */
export function taskInAddress(hash) {
  const [, named] = /^#task=(.+)$/.exec(hash) ?? []
  if (named === undefined) return undefined
  try {
    return decodeURIComponent(named)
  } catch {
    return undefined
  }
}

/** @param {string} task */
export function taskLink(task) {
  return el('a', { href: taskAddress(task), class: 'task', title: task }, task)
}

/**
 * @param {import('./dom.js').Child} first
 * @param {import('./dom.js').Child} second
 * @param {string} [className]
 */
export function twoLines(first, second, className) {
  return el('td', { class: className }, el('div', {}, first), el('div', { class: 'second' }, second))
}

/**
 * A word with a mark before it whose shape says as much as its colour.
 *
 * @param {'ok' | 'warn' | 'bad' | 'off'} level
 * @param {string} text
 */
export function sign(level, text) {
  return el('span', { class: `sign ${level}` }, text)
}

/**
 * @param {HTMLElement} element
 * @param {'ok' | 'warn' | 'bad' | 'off'} level
 * @param {string} text
 */
export function setSign(element, level, text) {
  setText(element, text)
  setAttribute(element, 'class', `sign ${level}`)
}

/** Tells those who don't see it what has changed. */
export class Announcer {
  #element

  /** @param {HTMLElement} element a live region */
  constructor(element) {
    this.#element = element
  }

  /** @param {string} text */
  say(text) {
    setText(this.#element, text)
  }
}
