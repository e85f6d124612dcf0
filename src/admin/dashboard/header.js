/** The bar, the situation line and the numbers: what is read first. */
import { byId, el, KeyedList, setAttribute, setText } from './dom.js'
import { counted, duration, grouped, rate } from './format.js'
import { Announcer, setSign, setTime, sign, taskLink } from './pieces.js'
import { situation } from './situation.js'

/** @import { Connection } from './connection.js' */
/** @import { Finding } from './situation.js' */
/** @import { Entry, Status } from './types.js' */

/**
 * @typedef {object} Shown
 * @property {Connection} connection
 * @property {Status | undefined} status
 * @property {number | undefined} answeredAtMs
 * @property {number} stalePerSecond
 * @property {number} staleLastMinute
 * @property {Entry | undefined} latest
 * @property {number} holding
 */

export class Header {
  #announcer = new Announcer(byId('announcer'))
  #said = ''
  /** @type {string | undefined} the version that came with this page */
  #loaded
  #findings = new KeyedList(
    byId('findings'),
    (/** @type {Finding & { place: number }} */ { place }) => place,
    findingRow,
  )
  #upstreams = new KeyedList(
    byId('upstreams'),
    (/** @type {Status['upstreams'][number]} */ { origin }) => origin,
    upstreamSign,
  )
  #tiles = {
    stale: tile('stale'),
    unknown: tile('unknown'),
    handovers: tile('handovers'),
    open: tile('open'),
    frozen: tile('frozen'),
  }

  constructor() {
    setText(byId('host'), location.host)
  }

  /** @param {Shown} shown */
  show(shown) {
    const { connection, status, answeredAtMs } = shown
    setSign(byId('connection'), connection.level, connection.label)
    document.body.classList.toggle('old', connection.state !== 'live' && connection.state !== 'connecting')
    const time = /** @type {HTMLTimeElement} */ (byId('data-time'))
    if (answeredAtMs !== undefined) setTime(time, answeredAtMs)
    this.#loaded ??= status?.version
    this.#situation(situation({ ...shown, loaded: this.#loaded }))
    if (!status) return
    setText(byId('version'), status.version)
    const phase = byId('phase')
    phase.hidden = false
    setSign(phase, status.phase === 'serving' ? 'ok' : 'warn', status.phase)
    setAttribute(phase, 'title', `since ${new Date(status.startedAtMs).toISOString()}`)
    byId('grace').hidden = !status.grace
    this.#upstreams.render(status.upstreams)
    this.#numbers(status, shown)
  }

  /** @param {Finding[]} findings */
  #situation(findings) {
    const worst = findings[0]?.level ?? 'off'
    byId('situation').className = `situation ${findings.some(({ level }) => level === 'bad') ? 'bad' : worst}`
    this.#findings.render(findings.map((finding, place) => ({ ...finding, place })))
    // Numbers change all the time: it is told anew when what is to be said does.
    const said = findings.map(({ text }) => text.replace(/[\d.:\u202f]+/g, '')).join(' ')
    if (said !== this.#said) this.#announcer.say(findings.map(({ text }) => text).join(' '))
    this.#said = said
    document.title = `${worst === 'bad' ? 'Look: ' : ''}fencegate ${location.host}`
  }

  /**
   * @param {Status} status
   * @param {Pick<Shown, 'stalePerSecond' | 'staleLastMinute'>} rates
   */
  #numbers(
    { staleRejections, unresolved, handoversPending, openWrites, oldestOpenWriteMs, frozen, tasks },
    { stalePerSecond, staleLastMinute },
  ) {
    const { stale, unknown, handovers, open, frozen: cold } = this.#tiles
    stale(
      rate(stalePerSecond),
      `${grouped(staleRejections)} since the start`,
      staleLastMinute > 0 ? 'bad' : '',
    )
    unknown(
      grouped(unresolved),
      unresolved > 0 ? 'to be resolved' : 'nothing to resolve',
      unresolved > 0 ? 'bad' : '',
    )
    const waits = handoversPending > 0
    handovers(
      grouped(handoversPending),
      waits ? 'new holders wait for older writes' : 'nobody waits',
      waits ? 'warn' : '',
    )
    open(grouped(openWrites), openWrites > 0 ? `oldest for ${duration(oldestOpenWriteMs)}` : 'none', '')
    cold(grouped(frozen), `of ${counted(tasks, 'task')}`, frozen > 0 ? 'warn' : '')
  }
}

/** @param {string} id */
function tile(id) {
  const element = byId(`tile-${id}`)
  const [label, value, beside] = /** @type {HTMLElement[]} */ ([...element.children])
  if (!label || !value || !beside) throw new Error(`the tile ${id} has no places for its texts`)
  /**
   * @param {string} number
   * @param {string} more
   * @param {string} level
   */
  return (number, more, level) => {
    setText(value, number)
    setText(beside, more)
    element.className = `tile ${level}`
    label.className = level === '' ? 'name' : `name sign ${level}`
  }
}

/** @param {Finding & { place: number }} _finding */
function findingRow(_finding) {
  const text = el('span')
  const task = el('span')
  const more = el('span')
  const element = el('li', {}, text, ' ', task, more)
  return {
    element,
    update: (/** @type {Finding} */ now) => {
      setAttribute(element, 'class', `sign ${now.level}`)
      setText(text, now.text)
      if (task.textContent !== (now.task ?? ''))
        task.replaceChildren(now.task === undefined ? '' : taskLink(now.task))
      setText(more, now.more === undefined ? '' : `, ${now.more}`)
    },
  }
}

/** @param {Status['upstreams'][number]} upstream */
function upstreamSign({ origin }) {
  const element = sign('off', '')
  const text = el('span')
  element.append(text)
  return {
    element,
    update: (/** @type {Status['upstreams'][number]} */ { state }) => {
      const level = state === 'reachable' ? 'ok' : state === 'unreachable' ? 'bad' : 'off'
      setAttribute(element, 'class', `sign ${level}`)
      setAttribute(element, 'title', `${origin}: ${state}`)
      setText(text, `${origin} ${state === 'unknown' ? 'not used yet' : state}`)
    },
  }
}
