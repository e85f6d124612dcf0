/**
 * A mark store in memory for attacks on the gate: what is durable is kept apart from what is only asked for,
 * and the test decides when each operation ends and how.
 *
 * It keeps the contract of `src/store/mark-store.ts`; `test/contract/` holds it to that.
 */
import { EXIT, ExitError } from '../../src/errors.ts'
import type { ListedEntry } from '../../src/journal/entries.ts'
import type { ListedAttempt, ListedOperation, OperationRecord } from '../../src/journal/operations.ts'
import type {
  AttemptsQuery,
  IdleQuery,
  IdleTask,
  JournalQuery,
  ListedTask,
  OperationsQuery,
  Page,
  Pruned,
  PruneLimits,
  TasksQuery,
} from '../../src/journal/queries.ts'
import type { UnknownWrite } from '../../src/journal/records.ts'
import {
  BackupRefused,
  type BackupReport,
  type Change,
  type MarkStore,
  type StoreCounts,
  StoreError,
  type StoreOrigin,
  type StoreState,
  type TaskRecord,
} from '../../src/store/mark-store.ts'
import type { MemoryDisk } from './store-memory-disk.ts'
import { listIdle, listTasks } from './store-memory-tasks.ts'

/** `lost`: rejected, nothing stored. `kept`: rejected although it was stored, which the contract allows. */
export type Fate = 'done' | 'lost' | 'kept'

export interface Operation {
  /** The task that it is about; `undefined`: one that only writes or reads records of writes. */
  readonly task: string | undefined
  /** What is to be made durable; `undefined`: a read. */
  readonly changes: readonly Change[] | undefined
  serve(fate: Fate): void
}

export interface MemoryStoreOptions {
  /** Serves each operation soon after it was asked for, without being told. */
  readonly automatic?: boolean
  readonly intentsComplete?: boolean
  /** Sees each operation before it is queued. */
  readonly submitted?: (operation: Operation) => void
  /** Sees each commit as it becomes durable. */
  readonly stored?: (changes: readonly Change[]) => void
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
    if (disk.user) throw new ExitError(EXIT.unavailable, 'the disk is locked by another store')
    this.disk = disk
    this.#options = options
    this.origin = disk.open(this, options.intentsComplete ?? false)
    this.#counts = disk.counts
  }

  load(task: string): Promise<TaskRecord> {
    return this.#ask(task, undefined, () => this.disk.task(task))
  }

  commit(changes: readonly Change[]): Promise<void> {
    const about = changes.find((change) => change.kind === 'mark' || change.kind === 'act')
    const task = about?.kind === 'act' ? about.act.task : about?.task
    return this.#ask(task, changes, () => this.#write(changes))
  }

  unresolved(limit: number, task?: string): Promise<UnknownWrite[]> {
    const isWanted = (write: UnknownWrite) => task === undefined || write.task === task
    return this.#ask(undefined, undefined, () => this.disk.unresolved.filter(isWanted).slice(0, limit))
  }

  unknownWrite(id: string): Promise<UnknownWrite | undefined> {
    return this.#ask(undefined, undefined, () => this.disk.unknownWrite(id))
  }

  operation(id: string): Promise<OperationRecord | undefined> {
    return this.#ask(undefined, undefined, () => this.disk.operations.one(id))
  }

  operations(query: OperationsQuery): Promise<Page<ListedOperation>> {
    return this.#ask(undefined, undefined, () => this.disk.operations.operations(query))
  }

  attempts(query: AttemptsQuery): Promise<Page<ListedAttempt>> {
    return this.#ask(undefined, undefined, () => this.disk.operations.attempts(query))
  }

  journal(query: JournalQuery): Promise<Page<ListedEntry>> {
    return this.#ask(undefined, undefined, () => this.disk.journal.list(query))
  }

  tasks(query: TasksQuery): Promise<Page<ListedTask, string>> {
    return this.#ask(undefined, undefined, () => listTasks(this.disk, query))
  }

  idle(query: IdleQuery): Promise<Page<IdleTask, string>> {
    return this.#ask(undefined, undefined, () => listIdle(this.disk, query))
  }

  state(): Promise<StoreState> {
    return this.#ask(undefined, undefined, () => this.disk.state)
  }

  async backup(file: string): Promise<BackupReport> {
    const report = await this.#ask(undefined, undefined, () => this.disk.backup(file))
    if (!report) throw new BackupRefused(`${file} exists already`)
    return report
  }

  prune(limits: PruneLimits): Promise<Pruned> {
    return this.#ask(undefined, undefined, () => this.disk.prune(limits))
  }

  counts(): StoreCounts {
    return this.#counts
  }

  async close(clean: boolean): Promise<void> {
    this.serveAll()
    if (this.#state !== 'open') return
    this.#state = 'closed'
    this.disk.close(clean)
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
      if (operation.changes && isDurable(operation)) this.#write(operation.changes)
    }
    this.pending.length = 0
    this.#state = 'crashed'
    this.disk.close(false)
  }

  #ask<T>(task: string | undefined, changes: Operation['changes'], apply: () => T): Promise<T> {
    if (this.#state === 'closed') return Promise.reject(new StoreError('the store is closed'))
    return new Promise((resolve, reject) => {
      if (this.#state === 'crashed') return
      const operation: Operation = {
        task,
        changes,
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

  #write(changes: readonly Change[]): void {
    this.disk.commit(changes)
    this.#counts = this.disk.counts
    this.#options.stored?.(changes)
  }
}

/** The writes that a commit is about. */
export function idsOf(changes: readonly Change[]): string[] {
  return changes.flatMap((change) => ('write' in change ? change.write.id : 'id' in change ? change.id : []))
}
