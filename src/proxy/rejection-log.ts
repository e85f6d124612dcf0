/**
 * Log lines for refusals: the first of each kind, task and token at once, its repeats as one count every ten
 * seconds; stale ones into the journal too. A stale worker in a tight loop must not fill the disk that the marks live on.
 */
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Refusal } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'

const REPEAT_MS = 10_000
/** Distinct lines remembered in one interval; what comes beyond them shares one count. */
const REMEMBERED = 1000

export type RejectionMessage = 'stale write rejected' | 'request refused' | 'request would be refused'

export interface RejectedClient {
  readonly route: string
  readonly client: string | undefined
  readonly userAgent?: string | undefined
  readonly requestId?: string
  readonly traceparent?: string | undefined
}

export class RejectionLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #journal: Journal
  readonly #repeats = new Map<string, { repeat: () => void; count: number }>()
  #others = 0
  #cancel: (() => void) | undefined

  constructor(log: Logger, clock: Clock, journal: Journal) {
    this.#journal = journal
    this.#log = log
    this.#clock = clock
  }

  note(message: RejectionMessage, refusal: Refusal, client: RejectedClient): void {
    this.#cancel ??= this.#clock.after(REPEAT_MS, () => this.flush())
    const key = `${message} ${refusal.code} ${refusal.token} ${refusal.task}`
    const known = this.#repeats.get(key)
    if (known) known.count++
    else if (this.#repeats.size >= REMEMBERED) this.#others++
    else {
      const level = message === 'stale write rejected' ? 'warn' : 'info'
      const entry = {
        count: 0,
        repeat: () => {
          this.#log[level]({ ...facts(refusal), count: entry.count }, `${message}, again`)
          this.#record(refusal, { ...client, count: entry.count })
        },
      }
      this.#repeats.set(key, entry)
      this.#log[level]({ ...facts(refusal), ...client }, message)
      this.#record(refusal, { ...client, count: 1 })
    }
  }

  /** What says that somebody writes who shouldn't goes into the journal as well. */
  #record({ code, task, token, highest }: Refusal, client: object): void {
    if (code !== 'stale-token' && code !== 'token-conflict') return
    this.#journal.note({
      kind: 'rejection',
      task,
      token,
      data: { code, highest: highest?.toString(), ...client },
    })
  }

  /** Logs the counts and forgets them: the next refusal of a client still at it is a first one again. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const { repeat, count } of this.#repeats.values()) if (count > 0) repeat()
    if (this.#others > 0) this.#log.warn({ count: this.#others }, 'further requests refused')
    this.#repeats.clear()
    this.#others = 0
  }
}

function facts({ code, task, token, highest }: Refusal) {
  return { code, task, token: token?.toString(), highest: highest?.toString() }
}
