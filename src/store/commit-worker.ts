/**
 * The thread that owns the store: group commit. All requests that arrived while the last commit ran share
 * the next one; each is answered after it, none before.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { EXIT, ExitError } from '../errors.ts'
import type { CommitRequest, FromWorker, Read, ReadRequest, ReadResult, ToWorker } from './messages.ts'
import { openStore, type StoreFileOptions } from './store-file.ts'
import { RolledBackError, StoreTables } from './store-tables.ts'

/** Changes between checkpoints: keeps the WAL at some tens of megabytes. */
const CHANGES_PER_CHECKPOINT = 8192

const port = parentPort
if (!port) throw new Error('commit-worker.ts runs as a worker thread')

const say = (message: FromWorker) => port.postMessage(message)

function serve(tables: StoreTables): void {
  let sinceCheckpoint = 0

  function work(commits: CommitRequest[], reads: ReadRequest[]): void {
    let failure: string | undefined
    if (commits.length > 0) {
      try {
        const changes = commits.flatMap((commit) => commit.changes)
        tables.commit(changes)
        sinceCheckpoint += changes.length
      } catch (error) {
        if (!(error instanceof RolledBackError)) throw error
        failure = error.message
        sinceCheckpoint = CHANGES_PER_CHECKPOINT // The room that the WAL has taken can be used again.
      }
    }
    const ids = commits.map(({ id }) => id)
    say({
      kind: 'done',
      committed: failure === undefined ? ids : [],
      failed: failure === undefined ? [] : ids,
      failure,
      answers: reads.map(({ id, read }) => ({ id, result: answer(read) })),
      counts: tables.counts,
    })
    if (sinceCheckpoint >= CHANGES_PER_CHECKPOINT) {
      tables.checkpoint('PASSIVE')
      sinceCheckpoint = 0
    }
  }

  function answer(read: Read): ReadResult {
    if (read.kind === 'task') return tables.load(read.task)
    return read.kind === 'write' ? tables.unknownWrite(read.id) : tables.unresolved(read.limit)
  }

  port?.on('message', (first: ToWorker) => {
    try {
      const commits: CommitRequest[] = []
      const reads: ReadRequest[] = []
      let message: ToWorker | undefined = first
      while (message?.kind === 'work') {
        for (const commit of message.commits) commits.push(commit)
        for (const read of message.reads) reads.push(read)
        message = receiveMessageOnPort(port)?.message as ToWorker | undefined
      }
      if (commits.length > 0 || reads.length > 0) work(commits, reads)
      if (message?.kind === 'close') {
        tables.close(message.clean)
        say({ kind: 'closed' })
        port.close()
      }
    } catch (error) {
      say({ kind: 'fatal', message: describe(error) })
      port.close()
    }
  })
}

function describe(error: unknown): string {
  const { message, errcode } = error as { message: string; errcode?: number }
  return errcode === undefined ? message : `SQLite error ${errcode}: ${message}`
}

try {
  const store = openStore(workerData as StoreFileOptions)
  const tables = new StoreTables(store)
  serve(tables)
  say({ kind: 'open', origin: store.origin, counts: tables.counts })
} catch (error) {
  const exitCode = error instanceof ExitError ? error.exitCode : EXIT.unavailable
  say({ kind: 'refused', exitCode, message: describe(error) })
}
