/**
 * Operators' acts: each changes one task and says who did it and why, in one commit.
 *
 * An act answers once it is durable, and tells which writes are still open: freezing stops what has not been
 * sent, not what is already at the resource.
 */
import type { Act, Author, Resolution, UnknownWrite } from '../journal/records.ts'
import type { Change, MarkStore, TaskRecord } from '../store/mark-store.ts'
import type { Token } from '../token.ts'
import type { Admission } from './admission.ts'
import type { Gate } from './gate.ts'
import type { Effect } from './task-state.ts'

/** A write that is still open after an act. */
export interface OpenWrite {
  readonly admission: Admission
  readonly ageMs: number
}

/** An act that makes no sense on the task as it is; nothing was changed. */
export class ActError extends Error {
  override readonly name = 'ActError'
}

export class Operator {
  readonly #gate: Gate
  readonly #store: MarkStore
  #lastResolve: Promise<unknown> = Promise.resolve()

  constructor(gate: Gate, store: MarkStore) {
    this.#gate = gate
    this.#store = store
  }

  /** Refuses all writes of the task until it is thawed. */
  freeze(task: string, author: Author): Promise<OpenWrite[]> {
    return this.#gate.operate(task, (record) => ({
      changes: [{ kind: 'frozen', task, frozen: true }, act('freeze', task, undefined, author)],
      after: { ...record, frozen: true },
    }))
  }

  /**
   * Lets writes through again; with a token, that of the elected holder, raises to it in the same commit.
   * Throws {@link ActError} if the token is below the mark.
   */
  thaw(task: string, author: Author, token?: Token): Promise<OpenWrite[]> {
    return this.#gate.operate(task, (record, lowerOpen) => {
      const raised =
        token === undefined ? { changes: [], after: record } : raise(task, record, token, lowerOpen)
      return {
        changes: [
          ...raised.changes,
          { kind: 'frozen', task, frozen: false },
          act('thaw', task, token, author),
        ],
        after: { ...raised.after, frozen: false },
      }
    })
  }

  /** Raises the mark. Throws {@link ActError} if the token is below it. */
  raise(task: string, author: Author, token: Token): Promise<OpenWrite[]> {
    return this.#gate.operate(task, (record, lowerOpen) => {
      const { changes, after } = raise(task, record, token, lowerOpen)
      return { changes: [...changes, act('raise', task, token, author)], after }
    })
  }

  /** Takes the bodies of the recorded answers of the task's operations off the disk. */
  erase(task: string, author: Author): Promise<OpenWrite[]> {
    return this.#gate.operate(task, (record) => ({
      changes: [{ kind: 'erase-bodies', task }, act('erase', task, undefined, author)],
      after: record,
    }))
  }

  /**
   * Says what became of an unknown write. Saying the same again changes nothing. Throws {@link ActError} if
   * there is no such record, or it was resolved otherwise.
   */
  resolve(id: string, resolution: Resolution, author: Author): Promise<UnknownWrite> {
    // One at a time: of two that differ, the second must see the first.
    const resolved = this.#lastResolve.then(() => this.#resolve(id, resolution, author))
    this.#lastResolve = resolved.catch(() => {})
    return resolved
  }

  async #resolve(id: string, resolution: Resolution, author: Author): Promise<UnknownWrite> {
    const write = await this.#store.unknownWrite(id)
    if (!write)
      throw new ActError(`there is no record ${id} of an unknown write: "fencegate unknown" lists them`)
    if (write.resolution === resolution) return write
    if (write.resolution) {
      throw new ActError(
        `record ${id} is resolved as ${write.resolution} by ${write.resolvedBy}; it stays so`,
      )
    }
    const { task } = write
    const { by, reason } = author
    const atMs = Date.now()
    await this.#gate.operate(task, (record) => ({
      changes: [
        { kind: 'resolved', id, resolution, by, note: reason, atMs },
        act('resolve', task, undefined, author),
      ],
      after: { ...record, held: record.held.filter((held) => held.id !== id) },
    }))
    return { ...write, resolution, resolvedBy: by, note: reason, resolvedAtMs: atMs }
  }
}

function raise(task: string, record: TaskRecord, token: Token, lowerOpen: (token: Token) => boolean): Effect {
  const { mark } = record
  if (token < mark.token) throw new ActError(`the mark of ${task} is ${mark.token} already, above ${token}`)
  if (token === mark.token && mark.recorded) return { changes: [], after: record }
  const complete = !lowerOpen(token)
  return {
    changes: [{ kind: 'mark', task, token, complete, holder: undefined }],
    after: { ...record, mark: { token, complete, recorded: true, holder: undefined } },
  }
}

function act(kind: Act['kind'], task: string, token: Token | undefined, author: Author): Change {
  return { kind: 'act', act: { ...author, kind, task, token, atMs: Date.now() } }
}
