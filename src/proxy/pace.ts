/**
 * Whether a client keeps moving the bytes that are waited for: those of its body, or of its answer.
 *
 * One that moves nothing for long is given up. One that moves, but slower than the least rate, is given up only
 * while others wait for a connection to the resource: it holds one of them, and a few such clients would
 * otherwise keep everybody else out (the "slow loris" with a body).
 */

export interface PaceLimits {
  /** How long a client may move nothing. */
  readonly silenceMs: number
  /** The least that it must move while others wait. */
  readonly bytesPerSecond: number
}

/** How often a client is looked at, at most. */
const WINDOW_MS = 5000
/** So many slow windows in a row are too many. */
const SLOW_WINDOWS = 2

export type PaceFault = 'silent' | 'slow'

export class Pace {
  readonly #limits: PaceLimits
  readonly #windowMs: number
  readonly #contended: () => boolean
  readonly #tooSlow: (fault: PaceFault) => void
  readonly #timer: NodeJS.Timeout
  #moved = 0
  #silentMs = 0
  #slowWindows = 0
  /** Whether it is somebody else who keeps the bytes from moving, now and at any time in this window. */
  #held = false
  #excused = false

  /**
   * @param contended whether others wait for what this client holds.
   * @param tooSlow called once.
   */
  constructor(limits: PaceLimits, contended: () => boolean, tooSlow: (fault: PaceFault) => void) {
    this.#limits = limits
    this.#windowMs = Math.min(limits.silenceMs, WINDOW_MS)
    this.#contended = contended
    this.#tooSlow = tooSlow
    this.#timer = setTimeout(() => this.#look(), this.#windowMs)
  }

  moved(bytes: number): void {
    this.#moved += bytes
  }

  /** From now on nobody waits for the client: it is the resource that doesn't go on. */
  hold(): void {
    this.#held = true
    this.#excused = true
  }

  /** From now on the client is waited for. */
  resume(): void {
    this.#held = false
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    const needed = (this.#limits.bytesPerSecond * this.#windowMs) / 1000
    const slow = !this.#excused && this.#moved < needed && this.#contended()
    this.#silentMs = this.#excused || this.#moved > 0 ? 0 : this.#silentMs + this.#windowMs
    this.#slowWindows = slow ? this.#slowWindows + 1 : 0
    this.#moved = 0
    this.#excused = this.#held
    if (this.#silentMs >= this.#limits.silenceMs) this.#tooSlow('silent')
    else if (this.#slowWindows >= SLOW_WINDOWS) this.#tooSlow('slow')
    else this.#timer.refresh()
  }
}
