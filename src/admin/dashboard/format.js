/** How numbers, durations and times read. Times are local; UTC goes beside them. Nothing here touches the page. */

const DASH = '–'
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * @param {number | undefined} ms
 * @returns {string} two units at most: `12 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`
 */
export function duration(ms) {
  if (ms === undefined || !Number.isFinite(ms)) return DASH
  if (ms < SECOND) return `${Math.max(0, Math.floor(ms))} ms`
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return pair(ms, MINUTE, 'min', SECOND, 's')
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'min')
  return pair(ms, DAY, 'd', HOUR, 'h')
}

/**
 * @param {number} ms
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function pair(ms, large, largeName, small, smallName) {
  const rest = Math.floor((ms % large) / small)
  return `${Math.floor(ms / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`
}

const THIN = '\u202f'

/**
 * Groups the digits of a count or a token. Takes strings, because a token may be past 2^53.
 *
 * @param {number | string} count
 */
export function grouped(count) {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, THIN)
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${grouped(count)} ${count === 1 ? one : many}`
}

/**
 * @param {number | null | undefined} perSecond
 * @returns {string} `0`, `0.02`, `3.4`, `128`: small rates keep their digits
 */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return DASH
  if (perSecond === 0) return '0'
  if (perSecond < 0.01) return '<0.01'
  if (perSecond < 1) return perSecond.toFixed(2)
  if (perSecond < 99.95) return perSecond.toFixed(1)
  return grouped(Math.round(perSecond))
}

/**
 * @param {number | undefined} bytes
 */
export function size(bytes) {
  if (bytes === undefined) return DASH
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/**
 * @param {string} text
 * @returns {string} with an end
 */
export function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** @param {number} number */
const two = (number) => String(number).padStart(2, '0')

/**
 * @param {number} atMs
 * @param {number} nowMs what of the date needs no saying
 * @returns {string} local: `02:13:05`, or `2026-11-29 02:13:05` of another day
 */
export function localTime(atMs, nowMs) {
  const at = new Date(atMs)
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
  if (at.toDateString() === new Date(nowMs).toDateString()) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}

/**
 * @param {number} atMs
 * @returns {string} `2026-11-29 01:13:05 UTC`
 */
export function utcTime(atMs) {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/**
 * @param {string} text
 * @param {number} most characters that are shown
 */
export function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
