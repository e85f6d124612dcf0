/**
 * A mark store in memory for attacks on the gate: what is durable is kept apart from what is only asked for,
 * and the test decides when each operation ends and how.
 *
 * It keeps the contract of `src/store/mark-store.ts`; `test/contract/` holds it to that.
 */
import { EXIT, ExitError } from '../../src/errors.ts'
import {
  type Mark,
  type MarkStore,
  type StoreCounts,
  StoreError,
  type StoreOrigin,
} from '../../src/store/mark-store.ts'
import type { Token } from '../../src/token.ts'

/** `lost`: rejected, nothing stored. `kept`: rejected although it was stored, which the contract allows. */
export type Fate = 'done' | 'lost' | 'kept'

export interface StoredMark {
  readonly token: Token
  readonly complete: boolean
}

/** What survives the process. */
export class MemoryDisk {
  readonly marks = new Map<string, StoredMark>()
  readonly floor: Token
  cleanStop: boolean
  opened = false
  commitSequence = 0
  /** The store that has it open. */
  holder: MemoryMarkStore | undefined

  constructor(floor: Token = 0n) {
    this.floor = floor
    this.cleanStop = floor === 0n
  }

  mark(task: string): Mark {
    const stored = this.marks.get(task)
    if (!stored) return { token: this.floor, complete: false, recorded: false }
    return { ...stored, recorded: true }
  }

  write(task: string, mark: StoredMark): void {
    const old = this.marks.get(task)
    const lower = old && (mark.token < old.token || (mark.token === old.token && old.complete))
    if (!lower) this.marks.set(task, mark)
    this.commitSequence++
  }
}

export interface Operation {
  readonly task: string
  /** What is to be recorded; `undefined`: a load. */
  readonly record: StoredMark | undefined
  serve(fate: Fate): void
}

export interface MemoryStoreOptions {
  /** Serves each operation soon after it was asked for, without being told. */
  readonly automatic?: boolean
  /** Sees each operation before it is queued. */
  readonly submitted?: (operation: Operation) => void
  /** Sees each record as it becomes durable. */
  readonly stored?: (task: string, mark: StoredMark) => void
}

export class MemoryMarkStore implements MarkStore {
  readonly origin: StoreOrigin
  readonly disk: MemoryDisk
  /** Operations asked for and not yet served, oldest first. */
  readonly pending: Operation[] = []
  readonly #options: MemoryStoreOptions
  #counts: StoreCounts
  #state: 'open' | 'closed' | 'crashed' = 'open'

  constructor(disk: MemoryDisk, options: MemoryStoreOptions = {}) {
    if (disk.holder) throw new ExitError(EXIT.unavailable, 'the disk is locked by another store')
    disk.holder = this
    this.disk = disk
    this.#options = options
    this.origin = { unclean: !disk.cleanStop, created: !disk.opened, createdAtMs: 0 }
    disk.opened = true
    disk.cleanStop = false
    this.#counts = this.#count()
  }

  load(task: string): Promise<Mark> {
    return this.#ask(task, undefined, () => this.disk.mark(task))
  }

  record(task: string, token: Token, complete: boolean): Promise<void> {
    const mark = { token, complete }
    return this.#ask(task, mark, () => this.#write(task, mark))
  }

  counts(): StoreCounts {
    return this.#counts
  }

  async close(clean: boolean): Promise<void> {
    this.serveAll()
    if (this.#state !== 'open') return
    this.#state = 'closed'
    this.disk.cleanStop = clean
    this.disk.holder = undefined
  }

  /** Serves what is pending now, in order. */
  serveAll(fate: Fate = 'done'): void {
    for (const operation of [...this.pending]) operation.serve(fate)
  }

  /**
   * The process dies: no pending operation is answered any more. Those for which `isDurable` says so had
   * reached the disk, the others had not; a commit that nobody was told of may be either.
   */
  crash(isDurable: (operation: Operation) => boolean): void {
    for (const operation of this.pending) {
      if (operation.record && isDurable(operation)) this.#write(operation.task, operation.record)
    }
    this.pending.length = 0
    this.#state = 'crashed'
    this.disk.holder = undefined
  }

  #ask<T>(task: string, record: StoredMark | undefined, apply: () => T): Promise<T> {
    if (this.#state === 'closed') return Promise.reject(new StoreError('the store is closed'))
    return new Promise((resolve, reject) => {
      if (this.#state === 'crashed') return
      const operation: Operation = {
        task,
        record,
        serve: (fate) => {
          const index = this.pending.indexOf(operation)
          if (index === -1) return
          this.pending.splice(index, 1)
          if (fate === 'done') resolve(apply())
          else {
            if (fate === 'kept') apply()
            reject(new StoreError(`${fate} by the test`))
          }
        },
      }
      this.#options.submitted?.(operation)
      this.pending.push(operation)
      if (this.#options.automatic) setImmediate(() => operation.serve('done'))
    })
  }

  #write(task: string, mark: StoredMark): void {
    this.disk.write(task, mark)
    this.#counts = this.#count()
    this.#options.stored?.(task, mark)
  }

  #count(): StoreCounts {
    return { tasks: this.disk.marks.size, commitSequence: this.disk.commitSequence }
  }
}
