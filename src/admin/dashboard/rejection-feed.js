/**
 * The latest rejections, as they come. Each time the stream is opened, the newest page of the journal is read behind it:
 * what came in between is in either or both, and nothing that was missed while the page was hidden has to be streamed.
 * Where the sidecar has no stream left, that page is read again and again.
 */
import { ApiError } from './api.js'
import { Recent } from './recent.js'

/** @import { Api } from './api.js' */
/** @import { Entry } from './types.js' */

/** @typedef {'connecting' | 'live' | 'polled' | 'off'} FeedState */

const KEPT = 200
const BACKFILL = `/v1/journal?kind=rejection&order=newest&limit=${KEPT}`
const STREAM = '/v1/journal/stream?kind=rejection'
const AGAIN_MS = 5000
/** Changes that come together are told together. */
const GATHER_MS = 200

export class RejectionFeed extends EventTarget {
  #api
  recent = new Recent(KEPT)
  /** @type {FeedState} */
  state = 'connecting'
  /** Whether the journal was read once, so that an empty list means that there is nothing. */
  filled = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  /** @type {AbortController | undefined} */
  #running

  /** @param {Api} api */
  constructor(api) {
    super()
    this.#api = api
  }

  start() {
    if (this.#running) return
    this.#running = new AbortController()
    void this.#run(this.#running.signal)
  }

  stop() {
    this.#running?.abort()
    this.#running = undefined
  }

  /** @param {AbortSignal} signal */
  async #run(signal) {
    while (!signal.aborted) {
      await this.#stream(signal)
      if (!signal.aborted) await pause(AGAIN_MS, signal)
    }
  }

  /** @param {AbortSignal} signal */
  async #stream(signal) {
    try {
      await this.#api.stream(STREAM, {
        signal,
        open: () => {
          this.#become('live')
          void this.#backfill(signal)
        },
        events: (events) => this.#add(events.map(({ data }) => JSON.parse(data))),
      })
    } catch (error) {
      if (signal.aborted) return
      const full = error instanceof ApiError && error.status === 503
      const read = full && (await this.#backfill(signal))
      this.#become(read ? 'polled' : 'off')
    }
  }

  /**
   * @param {AbortSignal} signal
   * @returns {Promise<boolean>} whether it was read
   */
  async #backfill(signal) {
    try {
      /** @type {{ journal: Entry[] }} */
      const { journal } = await this.#api.get(BACKFILL)
      if (signal.aborted) return false
      this.filled = true
      this.#add(journal)
      return true
    } catch {
      return false
    }
  }

  /** @param {Entry[]} entries */
  #add(entries) {
    this.recent.add(entries)
    this.#changed()
  }

  /** @param {FeedState} state */
  #become(state) {
    this.state = state
    this.#changed()
  }

  #changed() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.dispatchEvent(new Event('change'))
    }, GATHER_MS)
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal ends it early
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
