/** A SQLite mark store in a process of its own, to be killed, or to be run under limits. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { ExitError } from '../../src/errors.ts'
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
  type BackupReport,
  type Change,
  type MarkStore,
  type StoreCounts,
  StoreError,
  type StoreOrigin,
  type StoreState,
  type TaskRecord,
} from '../../src/store/mark-store.ts'
import type { StoreFileOptions } from '../../src/store/store-file.ts'
import type { StoreCall, StoreReply } from './store-messages.ts'

const CHILD = fileURLToPath(new URL('./store-child.ts', import.meta.url))

interface Limits {
  /** Blocks of 512 bytes that no file may grow beyond. */
  readonly fileBlocks?: number
  readonly env?: NodeJS.ProcessEnv
  /** A module that is loaded first in each of its threads. */
  readonly preload?: string
}

interface Call {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Rejects with what the store refused with. */
export async function openInProcess(options: StoreFileOptions, limits: Limits = {}): Promise<StoreProcess> {
  const child = start(options, limits)
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`it ended with code ${code}`)))
  const [reply] = (await Promise.race([once(child, 'message'), ended])) as [StoreReply]
  ended.catch(() => {}) // From here on its end is no surprise.
  if (reply.kind === 'open') return new StoreProcess(child, reply)
  if (reply.kind === 'result') throw new Error('a result before the store is open')
  throw new ExitError(reply.exitCode, reply.message)
}

function start(options: StoreFileOptions, { fileBlocks, env, preload }: Limits): ChildProcess {
  const node = [process.execPath, CHILD, JSON.stringify(options)]
  const limited = ['sh', '-c', `ulimit -f ${fileBlocks} && exec "$0" "$@"`, ...node]
  const [command, ...args] = fileBlocks === undefined ? node : limited
  const child = spawn(command as string, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: { ...process.env, NODE_OPTIONS: preload === undefined ? '' : `--import=${preload}`, ...env },
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

export class StoreProcess implements MarkStore {
  readonly origin: StoreOrigin
  /** Resolves with the error that the store called fatal, if it ever does. */
  readonly fatal: Promise<ExitError>
  /** Resolves when its process has ended, of itself or killed. */
  readonly exited: Promise<unknown>
  readonly #child: ChildProcess
  readonly #calls = new Map<number, Call>()
  #nextId = 0
  #counts: StoreCounts

  constructor(child: ChildProcess, opened: { origin: StoreOrigin; counts: StoreCounts }) {
    this.#child = child
    this.exited = once(child, 'exit')
    this.origin = opened.origin
    this.#counts = opened.counts
    this.fatal = new Promise((resolve) => {
      child.on('message', (reply: StoreReply) => {
        if (reply.kind === 'result') this.#receive(reply)
        else if (reply.kind === 'fatal') resolve(new ExitError(reply.exitCode, reply.message))
      })
    })
  }

  counts(): StoreCounts {
    return this.#counts
  }

  load(task: string): Promise<TaskRecord> {
    return this.#call('load', task) as Promise<TaskRecord>
  }

  async commit(changes: readonly Change[]): Promise<void> {
    await this.#call('commit', changes)
  }

  unresolved(limit: number, task?: string): Promise<UnknownWrite[]> {
    return this.#call('unresolved', limit, task) as Promise<UnknownWrite[]>
  }

  unknownWrite(id: string): Promise<UnknownWrite | undefined> {
    return this.#call('unknownWrite', id) as Promise<UnknownWrite | undefined>
  }

  operation(id: string): Promise<OperationRecord | undefined> {
    return this.#call('operation', id) as Promise<OperationRecord | undefined>
  }

  operations(query: OperationsQuery): Promise<Page<ListedOperation>> {
    return this.#call('operations', query) as Promise<Page<ListedOperation>>
  }

  attempts(query: AttemptsQuery): Promise<Page<ListedAttempt>> {
    return this.#call('attempts', query) as Promise<Page<ListedAttempt>>
  }

  journal(query: JournalQuery): Promise<Page<ListedEntry>> {
    return this.#call('journal', query) as Promise<Page<ListedEntry>>
  }

  tasks(query: TasksQuery): Promise<Page<ListedTask, string>> {
    return this.#call('tasks', query) as Promise<Page<ListedTask, string>>
  }

  idle(query: IdleQuery): Promise<Page<IdleTask, string>> {
    return this.#call('idle', query) as Promise<Page<IdleTask, string>>
  }

  state(): Promise<StoreState> {
    return this.#call('state') as Promise<StoreState>
  }

  backup(file: string): Promise<BackupReport> {
    return this.#call('backup', file) as Promise<BackupReport>
  }

  prune(limits: PruneLimits): Promise<Pruned> {
    return this.#call('prune', limits) as Promise<Pruned>
  }

  async close(clean: boolean): Promise<void> {
    const exited = once(this.#child, 'exit')
    await this.#call('close', clean)
    await exited
  }

  /** `kill -9`, and waits until the kernel has let go of its locks. */
  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  #call(method: StoreCall['method'], ...args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#calls.set(id, { resolve, reject })
      this.#child.send({ id, method, args } satisfies StoreCall)
    })
  }

  #receive({ id, counts, value, failure }: Extract<StoreReply, { kind: 'result' }>): void {
    this.#counts = counts
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    if (failure === undefined) call?.resolve(value)
    else call?.reject(new StoreError(failure))
  }
}
