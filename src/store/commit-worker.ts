/**
 * The thread that owns the store: group commit. All requests that arrived while the last commit ran share
 * the next one; each is answered after it, none before.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { EXIT, ExitError } from '../errors.ts'
import { MarkTable, RolledBackError } from './mark-table.ts'
import type { FromWorker, LoadRequest, RecordRequest, ToWorker } from './messages.ts'
import { openStore, type StoreFileOptions } from './store-file.ts'

/** Records between checkpoints: keeps the WAL at some tens of megabytes. */
const RECORDS_PER_CHECKPOINT = 8192

const port = parentPort
if (!port) throw new Error('commit-worker.ts runs as a worker thread')

const say = (message: FromWorker) => port.postMessage(message)

function serve(table: MarkTable): void {
  let sinceCheckpoint = 0

  function work(records: RecordRequest[], loads: LoadRequest[]): void {
    let failure: string | undefined
    if (records.length > 0) {
      try {
        table.commit(records)
        sinceCheckpoint += records.length
      } catch (error) {
        if (!(error instanceof RolledBackError)) throw error
        failure = error.message
        sinceCheckpoint = RECORDS_PER_CHECKPOINT // The room that the WAL has taken can be used again.
      }
    }
    const ids = records.map(({ id }) => id)
    say({
      kind: 'done',
      recorded: failure === undefined ? ids : [],
      failed: failure === undefined ? [] : ids,
      failure,
      loaded: loads.map(({ id, task }) => ({ id, mark: table.load(task) })),
      counts: table.counts,
    })
    if (sinceCheckpoint >= RECORDS_PER_CHECKPOINT) {
      table.checkpoint('PASSIVE')
      sinceCheckpoint = 0
    }
  }

  port?.on('message', (first: ToWorker) => {
    try {
      const records: RecordRequest[] = []
      const loads: LoadRequest[] = []
      let message: ToWorker | undefined = first
      while (message?.kind === 'work') {
        for (const record of message.records) records.push(record)
        for (const load of message.loads) loads.push(load)
        message = receiveMessageOnPort(port)?.message as ToWorker | undefined
      }
      if (records.length > 0 || loads.length > 0) work(records, loads)
      if (message?.kind === 'close') {
        table.close(message.clean)
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
  const table = new MarkTable(store)
  serve(table)
  say({ kind: 'open', origin: store.origin, counts: table.counts })
} catch (error) {
  const exitCode = error instanceof ExitError ? error.exitCode : EXIT.unavailable
  say({ kind: 'refused', exitCode, message: describe(error) })
}
