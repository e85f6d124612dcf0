/** What there is to know first, in sentences, the worst first: made of the same numbers that the panels show. */
import { counted, duration } from './format.js'

/** @import { Connection } from './connection.js' */
/** @import { Entry, Status } from './types.js' */

/** @typedef {'bad' | 'warn' | 'ok' | 'off'} Level */
/** @typedef {{ level: Level, text: string, task?: string, more?: string }} Finding `more` follows the task */

/** As long as a handover waits by default before it cuts what is still open. */
const OLD_WRITE_MS = 60_000

/**
 * @typedef {object} Heard
 * @property {Connection} connection
 * @property {Status | undefined} status
 * @property {string | undefined} [loaded] the version of this page
 * @property {number} staleLastMinute
 * @property {Entry | undefined} latest the newest rejection
 * @property {number} holding unknown outcomes that keep holders out
 */

/**
 * @param {Heard} heard
 * @returns {Finding[]} never empty
 */
export function situation({ connection, status, loaded, staleLastMinute, latest, holding }) {
  if (connection.remedy !== undefined) return [{ level: connection.level, text: connection.remedy }]
  if (!status) return [{ level: 'off', text: 'Asking the sidecar.' }]
  const findings = [
    ...phase(status),
    ...staleWrites(staleLastMinute, latest),
    ...unknownOutcomes(status.unresolved, holding),
    ...upstreams(status.upstreams),
    ...writes(status),
    ...otherVersion(status.version, loaded),
  ]
  if (findings.length > 0) return findings
  return [
    { level: 'ok', text: 'Quiet: nothing stale, nothing unknown, no handover waits, no task is frozen.' },
  ]
}

/**
 * @param {Status} status
 * @returns {Finding[]}
 */
function phase({ phase, grace }) {
  if (phase === 'stopping') {
    return [{ level: 'warn', text: 'The sidecar is stopping: open writes end, acts are refused.' }]
  }
  if (phase === 'starting')
    return [{ level: 'warn', text: 'The sidecar is starting: writes wait for its store.' }]
  if (!grace) return []
  const text =
    'Restart grace after an unclean stop: current holders are served, handovers wait until it is over.'
  return [{ level: 'warn', text }]
}

/**
 * @param {number} lastMinute
 * @param {Entry | undefined} latest
 * @returns {Finding[]}
 */
function staleWrites(lastMinute, latest) {
  if (lastMinute === 0) return []
  const text = `${counted(lastMinute, 'stale write was', 'stale writes were')} rejected in the last minute.`
  if (latest?.task === undefined) return [{ level: 'bad', text }]
  const { task, token = '?', data } = latest
  const against = typeof data.highest === 'string' ? ` against ${data.highest}` : ''
  const from = typeof data.client === 'string' ? `, from ${data.client}` : ''
  return [{ level: 'bad', text: `${text} Latest:`, task, more: `token ${token}${against}${from}.` }]
}

/**
 * @param {number} unresolved
 * @param {number} holding
 * @returns {Finding[]}
 */
function unknownOutcomes(unresolved, holding) {
  if (unresolved === 0) return []
  const kept = holding === 0 ? '' : `; ${holding} ${holding === 1 ? 'keeps' : 'keep'} later holders out`
  return [{ level: 'bad', text: `${counted(unresolved, 'outcome is', 'outcomes are')} unknown${kept}.` }]
}

/**
 * @param {string} version
 * @param {string | undefined} loaded
 * @returns {Finding[]}
 */
function otherVersion(version, loaded = version) {
  if (version === loaded) return []
  return [
    {
      level: 'warn',
      text: `The sidecar is version ${version} now, this page is of ${loaded}: load it again.`,
    },
  ]
}

/**
 * @param {Status['upstreams']} upstreams
 * @returns {Finding[]}
 */
function upstreams(upstreams) {
  const down = upstreams.filter(({ state }) => state === 'unreachable')
  return down.map(({ origin }) => ({ level: 'bad', text: `The resource ${origin} can't be reached.` }))
}

/**
 * @param {Status} status
 * @returns {Finding[]}
 */
function writes({ handoversPending, openWrites, oldestOpenWriteMs = 0, frozen }) {
  /** @type {Finding[]} */
  const findings = []
  if (handoversPending > 0) {
    findings.push({
      level: 'warn',
      text: `${counted(handoversPending, 'handover waits', 'handovers wait')}.`,
    })
  }
  if (openWrites > 0 && oldestOpenWriteMs >= OLD_WRITE_MS) {
    findings.push({ level: 'warn', text: `The oldest open write is ${duration(oldestOpenWriteMs)} old.` })
  }
  if (frozen > 0) findings.push({ level: 'warn', text: `${counted(frozen, 'task is', 'tasks are')} frozen.` })
  return findings
}
