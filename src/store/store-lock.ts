/**
 * One enforcer for one store: a lock held from before the store is looked at until after it is closed.
 *
 * It is SQLite's own lock on an empty file beside the store, because the store's WAL must be rewritten
 * before SQLite opens it, and nobody else may have it open then. The kernel drops the lock with the process.
 */
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EXIT, ExitError } from '../errors.ts'

export const LOCK_FILE = 'lock.db'
const SQLITE_BUSY = 5

/** Takes the lock, waiting up to `waitMs`; blocks the thread. The returned function drops it. */
export function lockStore(directory: string, waitMs: number): () => void {
  const lock = new DatabaseSync(path.join(directory, LOCK_FILE), { timeout: waitMs })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    const { errcode = 0, message } = error as { errcode?: number; message: string }
    throw new ExitError(
      EXIT.unavailable,
      (errcode & 0xff) === SQLITE_BUSY
        ? `store.path: ${directory} is locked by another process and stayed so for store.lockWait (${waitMs} ms). ` +
            'Two enforcers on one store must never overlap: stop the other one, or wait longer.'
        : `store.path: ${path.join(directory, LOCK_FILE)} can't be locked: ${message}. It holds no data: check ` +
            'that this user may write it; if it is damaged, remove it while no fencegate runs.',
      { cause: error },
    )
  }
  return () => lock.close()
}
