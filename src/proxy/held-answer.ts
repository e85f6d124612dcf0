/**
 * The answer to an attempt of an operation: kept back until what it says is on record, so that no client knows of an
 * effect that the next attempt would not find.
 *
 * An answer that is longer than what is kept for replays is put on record by its status as soon as that is known to be
 * so, and passed on as it comes after that.
 */
import type { Dispatcher } from 'undici'
import type { OperationAnswer } from '../gate/admission.ts'
import type { RecordedAnswer } from '../journal/operations.ts'
import type { AnswerSink } from './answer-sink.ts'
import { decodeRaw } from './headers.ts'
import type { Relay } from './relay.ts'

type Controller = Dispatcher.DispatchController

export interface AnswerRule {
  /** Bytes of a body that are kept, at most. */
  readonly keepBody: number
  readonly isFinal: (status: number) => boolean
  /** What is kept of a whole answer; `body` is undefined if it was too long. */
  readonly keep: (status: number, headers: readonly string[], body: Buffer | undefined) => RecordedAnswer
  /** Puts an answer on record before it has ended. Resolves once that is durable. */
  readonly recordEarly: (answer: OperationAnswer) => Promise<void>
  /** The answer can't be put on record in time, and the client is told so. */
  readonly timeoutMs: number
  readonly late: () => void
}

export class HeldAnswer implements AnswerSink {
  readonly #relay: Relay
  readonly #rule: AnswerRule
  #controller: Controller | undefined
  #reason: string | undefined
  #chunks: Buffer[] = []
  #bytes = 0
  #headers: string[] = []
  /** `held`, `recording`: nothing of the final answer was passed on. `given-up`: nothing will be. */
  #state: 'held' | 'recording' | 'passing' | 'whole' | 'given-up' = 'held'
  #gone = false
  #timer: NodeJS.Timeout | undefined
  status = 0

  constructor(relay: Relay, rule: AnswerRule) {
    this.#relay = relay
    this.#rule = rule
  }

  start(controller: Controller, status: number, reason: string | undefined): void {
    this.status = status
    if (status < 200) return this.#relay.start(controller, status, reason)
    this.#controller = controller
    this.#reason = reason
    this.#headers = decodeRaw(controller.rawHeaders)
  }

  data(controller: Controller, chunk: Buffer): void {
    if (this.#state === 'passing') return this.#relay.data(controller, chunk)
    // There is nobody to be given more than what is kept.
    if (this.#state === 'given-up' || (this.#state === 'recording' && this.#gone)) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#state !== 'held' || this.#bytes <= this.#rule.keepBody) return
    this.#state = 'recording'
    controller.pause()
    this.#expectRecord()
    void this.#rule.recordEarly(this.#answer(undefined)).then(() => {
      if (this.#state !== 'recording') return
      clearTimeout(this.#timer)
      this.#pass()
      controller.resume()
    })
  }

  end(controller: Controller): void {
    if (this.#state === 'passing') return this.#relay.end(controller)
    if (this.#state !== 'held') return
    this.#state = 'whole'
    this.#expectRecord()
  }

  leave(): void {
    this.#gone = true
    this.#relay.leave()
    this.#controller?.resume()
  }

  /** What the answer is for its operation; asked for at its end. */
  get answer(): OperationAnswer {
    return this.#answer(this.#state === 'whole' ? Buffer.concat(this.#chunks) : undefined)
  }

  /** What the answer says is on record: the client may know. */
  recorded(): void {
    clearTimeout(this.#timer)
    if (this.#state !== 'whole') return
    this.#pass()
    this.#relay.end(this.#controller as Controller)
  }

  /** The client is told something else. */
  giveUp(): void {
    clearTimeout(this.#timer)
    if (this.#state === 'passing') return
    this.#state = 'given-up'
    this.#chunks = []
  }

  /** The record may take longer than a client waits; what is left of the answer is then read away. */
  #expectRecord(): void {
    this.#timer = setTimeout(() => {
      this.giveUp()
      if (!this.#gone) this.#rule.late()
      this.#controller?.resume()
    }, this.#rule.timeoutMs)
  }

  #answer(body: Buffer | undefined): OperationAnswer {
    const { status } = this
    const final = this.#rule.isFinal(status)
    return { status, final, recorded: final ? this.#rule.keep(status, this.#headers, body) : undefined }
  }

  #pass(): void {
    this.#state = 'passing'
    const controller = this.#controller as Controller
    this.#relay.start(controller, this.status, this.#reason)
    for (const chunk of this.#chunks) this.#relay.data(controller, chunk)
    this.#chunks = []
  }
}
