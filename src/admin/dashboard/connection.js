/** Whether the page hears from its sidecar, and what to do if it doesn't. */
import { ApiError } from './api.js'
import { localTime, sentence } from './format.js'

/** @typedef {'connecting' | 'live' | 'reconnecting' | 'token' | 'refused' | 'gone'} ConnectionState */

/**
 * @typedef {object} Connection
 * @property {ConnectionState} state
 * @property {'ok' | 'warn' | 'bad' | 'off'} level
 * @property {string} label
 * @property {string} [remedy] a sentence or two: what happened, and what to do
 */

/** Longer than a sidecar needs to start again. */
export const GONE_MS = 15_000

/**
 * @param {{ failure: unknown, since: number | undefined, answeredAtMs: number | undefined, nowMs: number }} heard
 * `failure`: of the last reading, `undefined` if it was answered; `since`: when the first of these failures in a row was;
 * `answeredAtMs`: when an answer came last
 * @returns {Connection}
 */
export function connectionOf({ failure, since, answeredAtMs, nowMs }) {
  if (failure === undefined) {
    if (answeredAtMs === undefined) return { state: 'connecting', level: 'off', label: 'Connecting' }
    return { state: 'live', level: 'ok', label: 'Live' }
  }
  if (failure instanceof ApiError && failure.status === 401) {
    return {
      state: 'token',
      level: 'bad',
      label: 'Needs a token',
      remedy:
        'At this address reading needs a token too: one of those in the file that admin.tokenFile names.',
    }
  }
  if (failure instanceof ApiError && ![0, 503].includes(failure.status)) {
    return {
      state: 'refused',
      level: 'bad',
      label: 'Refused',
      remedy: `The sidecar says: ${sentence(failure.message)}`,
    }
  }
  if (failure instanceof ApiError && failure.status === 503) {
    const remedy = `The sidecar says: ${sentence(failure.message)} Asking again.`
    return { state: 'reconnecting', level: 'warn', label: 'Not ready', remedy }
  }
  const last = answeredAtMs === undefined ? '' : ` The data below is of ${localTime(answeredAtMs, nowMs)}.`
  if (nowMs - (since ?? nowMs) < GONE_MS) {
    return {
      state: 'reconnecting',
      level: 'warn',
      label: 'Reconnecting',
      remedy: `No answer from the sidecar; asking again.${last}`,
    }
  }
  return {
    state: 'gone',
    level: 'bad',
    label: 'Sidecar is gone',
    remedy:
      `No answer from the sidecar since ${localTime(since ?? nowMs, nowMs)}.${last} ` +
      'Look whether its process runs and what its log says last, and whether the way to it (a port forward) stands. ' +
      'This page goes on asking.',
  }
}
