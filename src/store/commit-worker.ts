/**
 * The thread that owns the store: group commit. All requests that arrived while the last commit ran share
 * the next one; each is answered after it, none before.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { EXIT, ExitError } from '../errors.ts'
import { BackupDesk } from './backup-desk.ts'
import type { CommitRequest, FromWorker, Read, ReadRequest, ReadResult, ToWorker } from './messages.ts'
import { type OpenStore, openStore, type StoreFileOptions } from './store-file.ts'
import { isStep, RolledBackError, StoreTables } from './store-tables.ts'

/** Changes between checkpoints: keeps the WAL at some tens of megabytes. */
const CHANGES_PER_CHECKPOINT = 8192

if (!parentPort) throw new Error('commit-worker.ts runs as a worker thread')
const port = parentPort

const say = (message: FromWorker) => port.postMessage(message)

type CloseRequest = Extract<ToWorker, { kind: 'close' }>

function serve(store: OpenStore, tables: StoreTables): void {
  const backups = new BackupDesk(store, say)
  let sinceCheckpoint = 0

  function work(commits: CommitRequest[], reads: ReadRequest[]): void {
    const { failed, failure } = commitAll(commits)
    const ids = (requests: CommitRequest[]) => requests.map(({ id }) => id)
    say({
      kind: 'done',
      committed: ids(commits.filter((commit) => !failed.has(commit))),
      failed: ids([...failed]),
      failure,
      answers: reads.map(({ id, read }) => ({ id, result: answer(read) })),
      counts: tables.counts,
    })
    if (sinceCheckpoint >= CHANGES_PER_CHECKPOINT) {
      tables.checkpoint('PASSIVE')
      sinceCheckpoint = 0
    }
  }

  /** Returns which were not committed because the disk is full, and what to say of it. */
  function commitAll(commits: CommitRequest[]): { failed: Set<CommitRequest>; failure: string | undefined } {
    if (commits.length === 0) return { failed: new Set(), failure: undefined }
    const changes = commits.flatMap((commit) => commit.changes)
    try {
      tables.commit(changes)
    } catch (error) {
      if (!(error instanceof RolledBackError)) throw error
      sinceCheckpoint = CHANGES_PER_CHECKPOINT // The room that the WAL has taken can be used again.
      const failed = new Set(commits)
      // The record of what happened must not keep the rest from theirs.
      const rest = commits.filter(({ changes }) => changes.some(isStep))
      if (rest.length < commits.length) {
        const stillFailed = commitAll(rest).failed
        for (const commit of rest) if (!stillFailed.has(commit)) failed.delete(commit)
      }
      return { failed, failure: error.message }
    }
    for (const change of changes) sinceCheckpoint += 'tasks' in change ? change.tasks.length : 1
    // What was erased stands in the log until that is emptied.
    if (changes.some(({ kind }) => kind === 'erase-bodies')) tables.checkpoint('TRUNCATE')
    return { failed: new Set(), failure: undefined }
  }

  function answer(read: Read): ReadResult {
    switch (read.kind) {
      case 'task':
        return tables.load(read.task)
      case 'write':
        return tables.unknownWrite(read.id)
      case 'unresolved':
        return tables.unresolved(read.limit, read.task)
      case 'operation':
        return tables.operation(read.id)
      case 'operations':
        return tables.operations(read.query)
      case 'attempts':
        return tables.attempts(read.query)
      case 'journal':
        return tables.journal(read.query)
      case 'tasks':
        return tables.tasks(read.query)
      case 'idle':
        return tables.idle(read.query)
      case 'state':
        return tables.state()
      case 'prune': {
        const pruned = tables.prune(read.limits)
        sinceCheckpoint += pruned.entries + pruned.operations + pruned.attempts
        return pruned
      }
    }
  }

  port.on('message', (first: ToWorker) => {
    try {
      const commits: CommitRequest[] = []
      const reads: ReadRequest[] = []
      let close: CloseRequest | undefined
      for (let message: ToWorker | undefined = first; message; message = next()) {
        if (message.kind === 'close') close = message
        else if (message.kind === 'backup') backups.start(message.id, message.file)
        else {
          for (const commit of message.commits) commits.push(commit)
          for (const read of message.reads) reads.push(read)
        }
      }
      if (commits.length > 0 || reads.length > 0) work(commits, reads)
      if (close)
        backups
          .close()
          .then(() => end(close.clean))
          .catch(fail)
    } catch (error) {
      fail(error)
    }
  })

  const next = () => receiveMessageOnPort(port)?.message as ToWorker | undefined

  function end(clean: boolean): void {
    tables.close(clean)
    say({ kind: 'closed' })
    port.close()
  }

  function fail(error: unknown): void {
    say({ kind: 'fatal', message: describe(error) })
    port.close()
    backups.close()
  }
}

function describe(error: unknown): string {
  const { message, errcode } = error as { message: string; errcode?: number }
  return errcode === undefined ? message : `SQLite error ${errcode}: ${message}`
}

try {
  const store = openStore(workerData as StoreFileOptions)
  const tables = new StoreTables(store)
  serve(store, tables)
  say({ kind: 'open', origin: store.origin, counts: tables.counts })
} catch (error) {
  const exitCode = error instanceof ExitError ? error.exitCode : EXIT.unavailable
  say({ kind: 'refused', exitCode, message: describe(error) })
}
