/**
 * Setting a poisoned mark lower: the one act that breaks P1, because a token that passed once will be stale and one
 * that was stale may pass. So it takes two steps, and a task of which nothing can be at work any more.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Author } from '../journal/records.ts'
import type { MarkStore, TaskRecord } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import { act } from './act.ts'
import { ActError } from './act-error.ts'
import type { Gate } from './gate.ts'
import type { Act, ActResult, TaskAtWork } from './task-state.ts'

const CONFIRM_MS = 300_000
/** First steps without a second one that are remembered. */
const MAX_ASKED = 100

/** What the first step answers. */
export interface ResetAsked {
  readonly task: string
  readonly mark: Token
  readonly to: Token
  /** What the second step must name, within `expiresInMs` and with the mark unchanged. */
  readonly confirm: string
  readonly expiresInMs: number
}

interface Asked {
  readonly mark: Token
  readonly to: Token
  readonly code: string
  /** Monotonic milliseconds. */
  readonly until: number
}

export class Resets {
  readonly #gate: Gate
  readonly #store: MarkStore
  readonly #clock: Clock
  readonly #asked = new Map<string, Asked>()

  constructor(gate: Gate, store: MarkStore, clock: Clock) {
    this.#gate = gate
    this.#store = store
    this.#clock = clock
  }

  /** The first step: changes nothing. Throws {@link ActError} if the task can't be reset. */
  async ask(task: string, to: Token): Promise<ResetAsked> {
    let mark = to
    await this.#onResettable(task, (record, atWork) => {
      mark = record.mark.token
      requireResettable(task, record, to, atWork)
      return { changes: [], after: record }
    })
    const code = randomBytes(4).toString('hex')
    this.#asked.delete(task)
    if (this.#asked.size >= MAX_ASKED) this.#asked.delete(this.#asked.keys().next().value as string)
    this.#asked.set(task, { mark, to, code, until: this.#clock.now() + CONFIRM_MS })
    return { task, mark, to, confirm: code, expiresInMs: CONFIRM_MS }
  }

  /** The second step. The same again changes nothing. Throws {@link ActError}. */
  confirm(task: string, to: Token, code: string, author: Author): Promise<ActResult> {
    const asked = this.#asked.get(task)
    return this.#onResettable(task, (record, atWork) => {
      const { mark } = record
      if (asked?.code === code && asked.to === to && mark.recorded && mark.token === to) {
        return { changes: [], after: record }
      }
      if (asked?.code !== code || asked.to !== to || asked.until < this.#clock.now()) {
        throw new ActError(`the code to reset ${task} to ${to} is not the one given, or too old: ask anew`)
      }
      if (asked.mark !== mark.token) {
        throw new ActError(`the mark of ${task} is ${mark.token} by now, no longer ${asked.mark}: ask anew`)
      }
      requireResettable(task, record, to, atWork)
      return {
        changes: [
          { kind: 'reset', task, to },
          act('reset', task, to, author, { from: mark.token, to, breaks: 'P1' }),
        ],
        after: { ...record, mark: { token: to, complete: true, recorded: true, holder: undefined } },
      }
    })
  }

  /** Looks for unknown writes when there can't come any more, because nothing of the task is open. */
  async #onResettable(task: string, step: Act): Promise<ActResult> {
    let unknown = false
    const before = async () => {
      unknown = (await this.#store.unresolved(1, task)).length > 0
      if (unknown) throw new Error('see below')
    }
    try {
      return await this.#gate.operate(task, (record, atWork) => ({ before, ...step(record, atWork) }))
    } catch (error) {
      if (!unknown) throw error
      throw new ActError(
        `${task} has writes whose outcome is unknown: resolve them first; its mark was not reset`,
      )
    }
  }
}

/** Nothing of the task may be at work in the resource, or its order could not be told any more. */
function requireResettable(task: string, record: TaskRecord, to: Token, { open, inGrace }: TaskAtWork): void {
  const { mark, frozen } = record
  const fault = !mark.recorded
    ? `has no mark of its own, only the floor ${mark.token}`
    : to >= mark.token
      ? `has the mark ${mark.token}, not above ${to}: "raise" sets it higher`
      : !frozen
        ? 'is not frozen: freeze it first'
        : open > 0
          ? `has ${open} open ${open === 1 ? 'write' : 'writes'}: wait for their end`
          : inGrace
            ? 'may have writes at work from before the unclean stop: wait for the end of restartGrace'
            : undefined
  if (fault) throw new ActError(`${task} ${fault}; its mark was not reset`)
}
