/**
 * The admin API. Every failure is an {@link ApiError} that says what came back, or that nothing did.
 *
 * Invariant: a token that was refused is forgotten and not sent again by itself: the sidecar locks out an address that
 * keeps trying.
 */
import { EventParser } from './event-stream.js'

/** @import { TokenHolder } from './token.js' */
/** @import { StreamEvent } from './event-stream.js' */

const READ_MS = 8000
/** An act is answered once it is durable. */
const ACT_MS = 30_000
/** The stream has a comment every 15 s. */
const SILENT_MS = 40_000

export class ApiError extends Error {
  /**
   * @param {number} status of the answer; 0 if there was none
   * @param {string} message
   * @param {number} [retryAfterMs]
   */
  constructor(status, message, retryAfterMs) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

export class Api {
  #token
  /** Reading needs no token on loopback, and one that isn't needed isn't sent. */
  #readsNeedToken = false

  /** @param {TokenHolder} token */
  constructor(token) {
    this.#token = token
  }

  /**
   * @template T
   * @param {string} target
   * @returns {Promise<T>}
   */
  async get(target) {
    const response = await this.#fetch(target, { headers: this.#readHeaders() }, READ_MS)
    return /** @type {T} */ (await whole(response, target))
  }

  /**
   * @template T
   * @param {string} target
   * @param {Record<string, string>} body
   * @returns {Promise<T>}
   */
  async act(target, body) {
    const headers = { authorization: `Bearer ${this.#token.value}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return /** @type {T} */ (await whole(await this.#fetch(target, request, ACT_MS), target))
  }

  /**
   * Reads the stream until it ends, which it always does with an error.
   *
   * @param {string} target
   * @param {{ signal: AbortSignal, open: () => void, events: (events: StreamEvent[]) => void }} reader
   * @returns {Promise<never>}
   */
  async stream(target, { signal, open, events }) {
    const silent = new AbortController()
    const request = { headers: this.#readHeaders(), signal: AbortSignal.any([signal, silent.signal]) }
    const response = await this.#fetch(target, request, undefined)
    if (!response.body) throw new ApiError(0, 'the stream has no body')
    open()
    const parser = new EventParser()
    const heard = () => setTimeout(() => silent.abort(), SILENT_MS)
    let timer = heard()
    try {
      const reading = response.body.getReader()
      for (let read = await reading.read(); !read.done; read = await reading.read()) {
        clearTimeout(timer)
        timer = heard()
        const complete = parser.push(read.value)
        if (complete.length > 0) events(complete)
      }
    } finally {
      clearTimeout(timer)
      silent.abort()
    }
    throw new ApiError(0, 'the stream ended')
  }

  /** @returns {Record<string, string>} */
  #readHeaders() {
    const { value } = this.#token
    return this.#readsNeedToken && value !== '' ? { authorization: `Bearer ${value}` } : {}
  }

  /**
   * @param {string} target
   * @param {RequestInit} request
   * @param {number | undefined} timeoutMs
   */
  async #fetch(target, request, timeoutMs) {
    const timed = timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) }
    const sent = new Headers(request.headers).get('authorization')
    /** @type {Response} */
    let response
    try {
      response = await fetch(target, { ...timed, ...request, cache: 'no-store', redirect: 'error' })
    } catch (error) {
      const late = error instanceof DOMException && error.name === 'TimeoutError'
      throw new ApiError(0, late ? 'the sidecar did not answer in time' : 'the sidecar could not be reached')
    }
    if (response.ok) return response
    if (response.status === 401) {
      if (request.method !== 'POST') this.#readsNeedToken = true
      // Another one may have been kept since.
      if (sent === `Bearer ${this.#token.value}`) this.#token.forget()
    }
    throw await failure(response)
  }
}

/**
 * @param {Response} response
 * @param {string} target
 */
async function whole(response, target) {
  try {
    return await response.json()
  } catch {
    throw new ApiError(0, `the answer to ${target} broke off, or is no JSON`)
  }
}

/** @param {Response} response */
async function failure(response) {
  const seconds = Number(response.headers.get('retry-after') ?? 'none')
  const body = await response.json().catch(() => undefined)
  const said = typeof body?.error === 'string' ? body.error : `the sidecar answered ${response.status}`
  return new ApiError(response.status, said, Number.isFinite(seconds) ? seconds * 1000 : undefined)
}
