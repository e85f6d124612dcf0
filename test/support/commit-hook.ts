/**
 * Loaded into a sidecar with `--import`: makes its commits slow, holds them, or fails them, as the file named by
 * TEST_COMMITS_FILE says at each commit: milliseconds; `hold` until it says something else; `full`, as on a disk
 * without room. Without that file commits run as they are.
 */
import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const SQLITE_FULL = 13
const control = process.env.TEST_COMMITS_FILE
const exec = DatabaseSync.prototype.exec
const cell = new Int32Array(new SharedArrayBuffer(4))

const sleep = (ms: number) => Atomics.wait(cell, 0, 0, ms)

function order(): string {
  try {
    return fs.readFileSync(control as string, 'utf8')
  } catch {
    return '0'
  }
}

DatabaseSync.prototype.exec = function (sql: string): void {
  if (sql === 'COMMIT') {
    while (order() === 'hold') sleep(5)
    if (order() === 'full')
      throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL })
    sleep(Number(order()))
  }
  exec.call(this, sql)
}
