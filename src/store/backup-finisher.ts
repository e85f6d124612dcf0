/**
 * The thread that makes a backup of a copy: a check of a large store takes seconds, in which no commit may wait.
 * Invariant: the file gets its name once it is sound and synced.
 */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { syncDirectory, syncFile } from './durable-files.ts'
import { type BackupReport, StoreError } from './mark-store.ts'

const { draft, file } = workerData as { draft: string; file: string }

/** Reads it as it is: nothing is written beside it. */
function check(): number {
  const url = pathToFileURL(draft)
  url.search = 'immutable=1'
  const db = new DatabaseSync(url, { readOnly: true })
  try {
    const [first] = db.prepare('PRAGMA quick_check(1)').all()
    if (first?.quick_check !== 'ok') throw new StoreError(`the copy is damaged: ${first?.quick_check}`)
    return db.prepare('SELECT commit_sequence FROM meta').get()?.commit_sequence as number
  } finally {
    db.close()
  }
}

const commitSequence = check()
syncFile(draft)
// Unlike a rename it never replaces a file that came meanwhile.
fs.linkSync(draft, file)
try {
  fs.rmSync(draft)
  syncDirectory(path.dirname(file))
} catch (error) {
  fs.rmSync(file)
  throw error
}
parentPort?.postMessage({ bytes: fs.statSync(file).size, commitSequence } satisfies BackupReport)
