/**
 * Asks the sidecar how it is, every two seconds while the page can be seen, and for lists only where the numbers say
 * that they aren't empty: a quiet sidecar is asked one cheap question.
 *
 * Invariants: one round at a time; of what was heard only the last is kept.
 */
import { ApiError } from './api.js'
import { tasks } from './pages.js'

/** @import { Api } from './api.js' */
/** @import { TaskList } from './pages.js' */
/** @import { Status, Unknown } from './types.js' */

/**
 * @typedef {object} Heard
 * @property {Status | undefined} status
 * @property {TaskList} open
 * @property {TaskList} pending
 * @property {TaskList} frozen
 * @property {Unknown[]} unknown
 * @property {number | undefined} answeredAtMs
 * @property {unknown} failure of the last round
 * @property {number | undefined} since when the first of the failures in a row was
 */

const EVERY_MS = 2000
/** Where a token is missing nothing changes until it is given. */
const WITHOUT_TOKEN_MS = 15_000
const LISTED = 100
/** @type {TaskList} */
const NONE = { tasks: [], next: undefined }

export class Poller extends EventTarget {
  #api
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  #asking = false
  #again = false
  #running = false
  /** @type {Heard} */
  heard = {
    status: undefined,
    open: NONE,
    pending: NONE,
    frozen: NONE,
    unknown: [],
    answeredAtMs: undefined,
    failure: undefined,
    since: undefined,
  }

  /** @param {Api} api */
  constructor(api) {
    super()
    this.#api = api
  }

  start() {
    this.#running = true
    this.now()
  }

  stop() {
    this.#running = false
    clearTimeout(this.#timer)
  }

  /** Asks at once; behind the round that is under way, if there is one. */
  now() {
    clearTimeout(this.#timer)
    if (!this.#running) return
    if (this.#asking) this.#again = true
    else void this.#round()
  }

  async #round() {
    this.#asking = true
    this.#again = false
    const begun = performance.now()
    try {
      const heard = await this.#ask()
      this.heard = { ...heard, answeredAtMs: Date.now(), failure: undefined, since: undefined }
    } catch (failure) {
      this.heard = { ...this.heard, failure, since: this.heard.since ?? Date.now() }
    }
    this.#asking = false
    this.dispatchEvent(new Event(this.heard.failure === undefined ? 'answered' : 'failed'))
    if (!this.#running) return
    const { failure } = this.heard
    const every = failure instanceof ApiError && failure.status === 401 ? WITHOUT_TOKEN_MS : EVERY_MS
    const rest = this.#again ? 0 : Math.max(every / 4, every - (performance.now() - begun))
    this.#timer = setTimeout(() => this.now(), rest)
  }

  async #ask() {
    /** @type {Status} */
    const status = await this.#api.get('/v1/status')
    /**
     * @param {number} count
     * @param {string} state
     */
    const list = (count, state) => (count === 0 ? NONE : tasks(this.#api, { state, limit: LISTED }))
    const [open, pending, frozen, { unknown }] = await Promise.all([
      list(status.openWrites, 'open'),
      list(status.handoversPending, 'pending'),
      list(status.frozen, 'frozen'),
      status.unresolved === 0 ? { unknown: [] } : this.#unknown(),
    ])
    return { status, open, pending, frozen, unknown }
  }

  /** @returns {Promise<{ unknown: Unknown[] }>} */
  #unknown() {
    return this.#api.get(`/v1/unknown?limit=${LISTED}`)
  }
}
