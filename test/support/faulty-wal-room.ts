/**
 * Loaded with `--import` into a process that holds a store: a disk with room for 20 commits in the WAL. The
 * next one fails as on a full disk, until a checkpoint lets the WAL begin again.
 */
import { DatabaseSync } from 'node:sqlite'

const ROOM = 20
const SQLITE_FULL = 13
const exec = DatabaseSync.prototype.exec
let commits = 0

DatabaseSync.prototype.exec = function (sql: string): void {
  if (sql.startsWith('PRAGMA wal_checkpoint')) commits = 0
  if (sql === 'COMMIT' && commits++ >= ROOM) {
    throw Object.assign(new Error('database or disk is full'), { errcode: SQLITE_FULL })
  }
  exec.call(this, sql)
}
