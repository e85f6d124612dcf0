/**
 * The mark store on SQLite, seen from the event loop: it hands work to the commit worker and never touches
 * the disk itself.
 */
import { Worker } from 'node:worker_threads'
import { EXIT, ExitError } from '../errors.ts'
import type { ListedEntry } from '../journal/entries.ts'
import type { ListedAttempt, ListedOperation, OperationRecord } from '../journal/operations.ts'
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
} from '../journal/queries.ts'
import type { UnknownWrite } from '../journal/records.ts'
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
} from './mark-store.ts'
import type { CommitRequest, FromWorker, Read, ReadRequest, ReadResult, ToWorker } from './messages.ts'
import type { StoreFileOptions } from './store-file.ts'

/** The worker runs as the file that this one is: TypeScript in the repository, JavaScript in the package. */
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './commit-worker.ts' : './commit-worker.js',
  import.meta.url,
)

interface Pending {
  readonly resolve: (result: ReadResult | BackupReport) => void
  readonly reject: (error: Error) => void
}

/**
 * Opens the store in its own thread. Rejects with {@link ExitError} if it can't be proved sound.
 *
 * @param onFatal called at most once, if a commit ends with nobody knowing what is stored: no request is
 * answered after that, and the process has to end.
 */
export function openSqliteMarkStore(
  options: StoreFileOptions,
  onFatal: (error: ExitError) => void,
): Promise<MarkStore> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: options })
    worker.once('message', (message: FromWorker) => {
      if (message.kind === 'open') resolve(new SqliteMarkStore(worker, message, onFatal))
      else if (message.kind === 'refused') reject(new ExitError(message.exitCode, message.message))
    })
    worker.once('error', (error: Error) => {
      reject(new ExitError(EXIT.unavailable, `the store's thread failed: ${error.message}`, { cause: error }))
    })
    worker.once('exit', (code) => {
      reject(new ExitError(EXIT.unavailable, `the store's thread ended with code ${code} before it was open`))
    })
  })
}

class SqliteMarkStore implements MarkStore {
  readonly origin: StoreOrigin
  readonly #worker: Worker
  readonly #ended: Promise<void>
  readonly #onFatal: (error: ExitError) => void
  readonly #pending = new Map<number, Pending>()
  #nextId = 0
  #commits: CommitRequest[] = []
  #reads: ReadRequest[] = []
  #flushScheduled = false
  #counts: StoreCounts
  #state: 'open' | 'closing' | 'closed' = 'open'

  constructor(
    worker: Worker,
    opened: { origin: StoreOrigin; counts: StoreCounts },
    onFatal: (error: ExitError) => void,
  ) {
    this.#worker = worker
    this.origin = opened.origin
    this.#counts = opened.counts
    this.#onFatal = onFatal
    worker.on('message', (message: FromWorker) => this.#receive(message))
    worker.on('error', (error: Error) => this.#fail(error.message))
    this.#ended = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#fail('it ended unasked')
        resolve()
      })
    })
  }

  counts(): StoreCounts {
    return this.#counts
  }

  async load(task: string): Promise<TaskRecord> {
    return (await this.#read({ kind: 'task', task })) as TaskRecord
  }

  async commit(changes: readonly Change[]): Promise<void> {
    await this.#ask((id) => this.#commits.push({ id, changes }))
  }

  async unresolved(limit: number, task?: string): Promise<UnknownWrite[]> {
    return (await this.#read({ kind: 'unresolved', limit, task })) as UnknownWrite[]
  }

  async unknownWrite(writeId: string): Promise<UnknownWrite | undefined> {
    return (await this.#read({ kind: 'write', id: writeId })) as UnknownWrite | undefined
  }

  async operation(id: string): Promise<OperationRecord | undefined> {
    return (await this.#read({ kind: 'operation', id })) as OperationRecord | undefined
  }

  async operations(query: OperationsQuery): Promise<Page<ListedOperation>> {
    return (await this.#read({ kind: 'operations', query })) as Page<ListedOperation>
  }

  async attempts(query: AttemptsQuery): Promise<Page<ListedAttempt>> {
    return (await this.#read({ kind: 'attempts', query })) as Page<ListedAttempt>
  }

  async journal(query: JournalQuery): Promise<Page<ListedEntry>> {
    return (await this.#read({ kind: 'journal', query })) as Page<ListedEntry>
  }

  async tasks(query: TasksQuery): Promise<Page<ListedTask, string>> {
    return (await this.#read({ kind: 'tasks', query })) as Page<ListedTask, string>
  }

  async idle(query: IdleQuery): Promise<Page<IdleTask, string>> {
    return (await this.#read({ kind: 'idle', query })) as Page<IdleTask, string>
  }

  async state(): Promise<StoreState> {
    return (await this.#read({ kind: 'state' })) as StoreState
  }

  async backup(file: string): Promise<BackupReport> {
    return (await this.#await((id) => this.#post({ kind: 'backup', id, file }))) as BackupReport
  }

  async prune(limits: PruneLimits): Promise<Pruned> {
    return (await this.#read({ kind: 'prune', limits })) as Pruned
  }

  /** Safe to call again, and after a fatal fault: it waits for the thread's end. */
  close(clean: boolean): Promise<void> {
    if (this.#state === 'open') {
      this.#flush()
      this.#state = 'closing'
      this.#post({ kind: 'close', clean })
    }
    return this.#ended
  }

  #read(read: Read): Promise<ReadResult> {
    return this.#ask((id) => this.#reads.push({ id, read })) as Promise<ReadResult>
  }

  #ask(enqueue: (id: number) => void): Promise<ReadResult | BackupReport> {
    return this.#await((id) => {
      enqueue(id)
      if (this.#flushScheduled) return
      this.#flushScheduled = true
      // What this turn of the event loop asks for travels in one message.
      setImmediate(() => this.#flush())
    })
  }

  #await(send: (id: number) => void): Promise<ReadResult | BackupReport> {
    if (this.#state !== 'open') return Promise.reject(new StoreError('the store is closed'))
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#pending.set(id, { resolve, reject })
      send(id)
    })
  }

  #flush(): void {
    this.#flushScheduled = false
    if (this.#commits.length === 0 && this.#reads.length === 0) return
    this.#post({ kind: 'work', commits: this.#commits, reads: this.#reads })
    this.#commits = []
    this.#reads = []
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  #receive(message: FromWorker): void {
    if (message.kind === 'done') {
      this.#counts = message.counts
      for (const id of message.committed) this.#take(id)?.resolve(undefined)
      for (const { id, result } of message.answers) this.#take(id)?.resolve(result)
      for (const id of message.failed) this.#take(id)?.reject(new StoreError(message.failure))
    } else if (message.kind === 'backed-up') {
      this.#take(message.id)?.resolve(message.report)
    } else if (message.kind === 'no-backup') {
      const { failure, refused } = message
      this.#take(message.id)?.reject(refused ? new BackupRefused(failure) : new StoreError(failure))
    } else if (message.kind === 'closed') {
      this.#state = 'closed'
    } else if (message.kind === 'fatal') {
      this.#fail(message.message)
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }

  #fail(reason: string): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#onFatal(
      new ExitError(
        EXIT.unavailable,
        `the store's thread failed: ${reason}. What the last commit stored is unknown until the store is ` +
          'opened anew, so the process ends; look at the disk before starting it again.',
      ),
    )
  }
}
