/**
 * Loaded with `--import` into the sidecar's process and its store's thread. The process ends with its supervisor;
 * and commits run as the file named by TORTURE_STORE_FILE says: `ok`, `slow MS`, `full` (nothing is stored, as on
 * a full disk), `io` (nothing is stored, and nobody knows), `io-stored` (it is stored, and nobody knows).
 */
import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'

const SQLITE_IOERR = 10
const SQLITE_FULL = 13
const control = process.env.TORTURE_STORE_FILE as string
const exec = DatabaseSync.prototype.exec
const cell = new Int32Array(new SharedArrayBuffer(4))

const fault = (message: string, errcode: number) => Object.assign(new Error(message), { errcode })

DatabaseSync.prototype.exec = function (sql: string): void {
  const [order, ms] = sql === 'COMMIT' ? fs.readFileSync(control, 'utf8').split(' ') : []
  if (order === 'slow') Atomics.wait(cell, 0, 0, Number(ms))
  if (order === 'full') throw fault('database or disk is full', SQLITE_FULL)
  if (order === 'io') throw fault('disk I/O error', SQLITE_IOERR)
  exec.call(this, sql)
  if (order === 'io-stored') throw fault('disk I/O error', SQLITE_IOERR)
}

if (isMainThread) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume()
}
