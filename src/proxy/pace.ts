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

/** What is waited for, and so how closely it can be watched. */
export interface Watch {
  /** So many slow windows in a row are too many. */
  readonly slowWindows: number
  /** What was moved beyond the least counts for later, up to this many bytes. */
  readonly aheadBytes: number
}

export const OF_BODY: Watch = { slowWindows: 2, aheadBytes: 0 }

/**
 * The system's buffers stand between: they take megabytes before the client has taken one byte, and then tell of what
 * it takes in steps of a third of that.
 */
export const OF_ANSWER: Watch = { slowWindows: 4, aheadBytes: 4 * 1024 * 1024 }

/** How often a client is looked at, at most. */
const WINDOW_MS = 5000

export type PaceFault = 'silent' | 'slow'

export class Pace {
  readonly #watch: Watch
  readonly #silenceMs: number
  readonly #windowMs: number
  /** Bytes that must move in a window. */
  readonly #needed: number
  readonly #contended: () => boolean
  readonly #tooSlow: (fault: PaceFault) => void
  readonly #timer: NodeJS.Timeout
  #moved = 0
  #silentMs = 0
  #slowWindows = 0
  /** Whether it is somebody else who keeps the bytes from moving, now and at any time in this window. */
  #held = false
  #excused = false
  #heldWindows = 0

  /**
   * @param contended whether others wait for what this client holds.
   * @param tooSlow called once.
   */
  constructor(
    watch: Watch,
    limits: PaceLimits,
    contended: () => boolean,
    tooSlow: (fault: PaceFault) => void,
  ) {
    this.#watch = watch
    this.#silenceMs = limits.silenceMs
    this.#windowMs = Math.min(limits.silenceMs, WINDOW_MS)
    this.#needed = (limits.bytesPerSecond * this.#windowMs) / 1000
    this.#contended = contended
    this.#tooSlow = tooSlow
    this.#timer = setTimeout(() => this.#look(), this.#windowMs)
  }

  moved(bytes: number): void {
    this.#moved += bytes
    this.#silentMs = -this.#windowMs // Of this window nothing is silence.
  }

  /** From now on nobody waits for the client: it is the resource that doesn't go on. */
  hold(): void {
    this.#held = true
    this.#excused = true
  }

  /** From now on the client is waited for. */
  resume(): void {
    this.#held = false
    this.#heldWindows = 0
  }

  /** Whether `bytes` are too few for the time since `hold`, if the client could have moved more. */
  wasSlow(bytes: number): boolean {
    return this.#heldWindows >= this.#watch.slowWindows && bytes < this.#heldWindows * this.#needed
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    const slow = !this.#excused && this.#moved < this.#needed && this.#contended()
    this.#slowWindows = slow ? this.#slowWindows + 1 : 0
    this.#silentMs = this.#excused ? 0 : this.#silentMs + this.#windowMs
    this.#moved = Math.min(Math.max(0, this.#moved - this.#needed), this.#watch.aheadBytes)
    if (this.#held) this.#heldWindows++
    this.#excused = this.#held
    if (this.#silentMs >= this.#silenceMs) this.#tooSlow('silent')
    else if (this.#slowWindows >= this.#watch.slowWindows) this.#tooSlow('slow')
    else this.#timer.refresh()
  }
}
