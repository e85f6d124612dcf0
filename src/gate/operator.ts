/**
 * Operators' acts: each says who did it and why, in the same commit as what it changes.
 *
 * An act answers once it is durable, and tells which writes are still open: freezing stops what has not been
 * sent, not what is already at the resource. The same act again changes nothing.
 */
import type { Clock } from '../clock.ts'
import type { Author, Resolution, UnknownWrite } from '../journal/records.ts'
import { type BackupReport, type MarkStore, StoreError, type TaskRecord } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import { act } from './act.ts'
import { ActError } from './act-error.ts'
import type { Gate } from './gate.ts'
import { type ResetAsked, Resets } from './reset.ts'
import { type Retired, Retirement, type RetireRequest } from './retirement.ts'
import type { ActResult, Effect, TaskAtWork } from './task-state.ts'
import type { Usage } from './usage.ts'

export interface OperatorParts {
  readonly gate: Gate
  readonly store: MarkStore
  readonly usage: Usage
  readonly clock: Clock
  /** Tokens above it are malformed, so no mark may get there. */
  readonly maxToken: Token
}

/** The author is known; nobody else's words are in a request. */
export class Operator {
  readonly #gate: Gate
  readonly #store: MarkStore
  readonly #maxToken: Token
  readonly #resets: Resets
  readonly #retirement: Retirement
  /** Two queues: a retirement can take minutes, and who waits for a resolution can't. */
  readonly #resolutions = new Queue()
  readonly #retirements = new Queue()

  constructor({ gate, store, usage, clock, maxToken }: OperatorParts) {
    this.#gate = gate
    this.#store = store
    this.#maxToken = maxToken
    this.#resets = new Resets(gate, store, clock)
    this.#retirement = new Retirement(gate, store, usage)
  }

  /** Refuses all writes of the task until it is thawed. */
  freeze(task: string, author: Author): Promise<ActResult> {
    return this.#gate.operate(task, (record) => ({
      changes: [{ kind: 'frozen', task, frozen: true }, act('freeze', task, undefined, author)],
      after: { ...record, frozen: true },
    }))
  }

  /**
   * Lets writes through again; with a token, that of the elected holder, raises to it in the same commit.
   * Throws {@link ActError} if the token is below the mark.
   */
  thaw(task: string, author: Author, token?: Token): Promise<ActResult> {
    return this.#gate.operate(task, (record, atWork) => {
      const { changes, after } =
        token === undefined ? { changes: [], after: record } : this.#raise(task, record, token, atWork)
      return {
        changes: [...changes, { kind: 'frozen', task, frozen: false }, act('thaw', task, token, author)],
        after: { ...after, frozen: false },
      }
    })
  }

  /** Raises the mark. Throws {@link ActError} if the token is below it. */
  raise(task: string, author: Author, token: Token): Promise<ActResult> {
    return this.#gate.operate(task, (record, atWork) => {
      const { changes, after } = this.#raise(task, record, token, atWork)
      return { changes: [...changes, act('raise', task, token, author)], after }
    })
  }

  /**
   * Freezes the task and raises its mark by exactly one, past `token`: nobody who holds that one, or a lower one, writes
   * again. Throws {@link ActError} if the mark is another than `token`.
   */
  fence(task: string, author: Author, token: Token): Promise<ActResult> {
    const next = token + 1n
    return this.#gate.operate(task, (record, atWork) => {
      const { mark, frozen } = record
      const isDone = frozen && mark.token === next
      if (!isDone && mark.token !== token) {
        throw new ActError(
          `the mark of ${task} is ${mark.token}, not ${token}: look again, and name that one`,
        )
      }
      const { changes, after } = this.#raise(task, record, next, atWork)
      return {
        changes: [...changes, { kind: 'frozen', task, frozen: true }, act('fence', task, next, author)],
        after: { ...after, frozen: true },
      }
    })
  }

  /** The first step of a reset: says what it would do, and the code that the second one needs. */
  askReset(task: string, to: Token): Promise<ResetAsked> {
    return this.#resets.ask(task, to)
  }

  /** The second step: sets the mark lower. Throws {@link ActError}. */
  reset(task: string, to: Token, code: string, author: Author): Promise<ActResult> {
    return this.#resets.confirm(task, to, code, author)
  }

  /** Takes the bodies of the recorded answers of the task's operations off the disk. */
  erase(task: string, author: Author): Promise<ActResult> {
    return this.#gate.operate(task, (record) => ({
      changes: [{ kind: 'erase-bodies', task }, act('erase', task, undefined, author)],
      after: record,
    }))
  }

  /** Makes idle marks one floor for their prefix. Throws {@link ActError}. */
  retire(request: RetireRequest, author: Author): Promise<Retired> {
    return this.#retirements.run(async () => {
      this.#requireWritable(request.floor)
      return this.#retirement.retire(request, author)
    })
  }

  /** Writes all that is on record to a new file, while writes go on. Rejects as the store's own does. */
  async backup(file: string, author: Author): Promise<BackupReport> {
    const report = await this.#store.backup(file)
    try {
      await this.#store.commit([act('backup', undefined, undefined, author, { file, ...report })])
    } catch (cause) {
      throw new StoreError(`${file} is whole, but that it was made could not be put on record`, { cause })
    }
    return report
  }

  /**
   * Says what became of an unknown write. Saying the same again changes nothing. Throws {@link ActError} if
   * there is no such record, or it was resolved otherwise.
   */
  resolve(id: string, resolution: Resolution, author: Author): Promise<UnknownWrite> {
    return this.#resolutions.run(() => this.#resolve(id, resolution, author))
  }

  async #resolve(id: string, resolution: Resolution, author: Author): Promise<UnknownWrite> {
    const write = await this.#store.unknownWrite(id)
    if (!write) {
      throw new ActError(`there is no record ${id} of an unknown write: "fencegate unknown" lists them`)
    }
    if (write.resolution === resolution) return write
    if (write.resolution) {
      throw new ActError(
        `record ${id} is resolved as ${write.resolution} by ${write.resolvedBy}; it stays so`,
      )
    }
    const { task, operation } = write
    const { by, reason } = author
    const atMs = Date.now()
    await this.#gate.operate(task, (record, atWork) => {
      // What is found out now would be about a repeat that has read the record already.
      if (operation !== undefined && atWork.isAttempted(operation)) {
        throw new ActError(`operation ${operation} is being attempted again: resolve it when that has ended`)
      }
      return {
        changes: [
          { kind: 'resolved', id, resolution, by, note: reason, atMs },
          act('resolve', task, undefined, author),
        ],
        after: { ...record, held: record.held.filter((held) => held.id !== id) },
      }
    })
    return { ...write, resolution, resolvedBy: by, note: reason, resolvedAtMs: atMs }
  }

  #raise(task: string, record: TaskRecord, token: Token, { lowerOpen }: TaskAtWork): Effect {
    this.#requireWritable(token)
    const { mark } = record
    if (token < mark.token) throw new ActError(`the mark of ${task} is ${mark.token} already, above ${token}`)
    if (token === mark.token && mark.recorded) return { changes: [], after: record }
    const complete = !lowerOpen(token)
    return {
      changes: [{ kind: 'mark', task, token, complete, holder: undefined }],
      after: { ...record, mark: { token, complete, recorded: true, holder: undefined } },
    }
  }

  #requireWritable(token: Token): void {
    if (token <= this.#maxToken) return
    throw new ActError(`${token} is above claim.maxToken, ${this.#maxToken}: no write could pass any more`)
  }
}

/** One at a time: of two that differ, the second must see the first. */
class Queue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }
}
