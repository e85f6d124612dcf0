/**
 * Making and opening the store's file. A start that cannot prove the store ends here, with a message that
 * says what to do; it never goes on with an empty one instead.
 */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import type { Token } from '../token.ts'
import {
  makeDirectory,
  requireLocalFileSystem,
  rewriteDurably,
  syncDirectory,
  syncFile,
} from './durable-files.ts'
import type { StoreCounts, StoreOrigin, StoreState } from './mark-store.ts'
import { keepCopy, migrate, versionOf } from './migration.ts'
import { type Restore, type Restored, restoreTo } from './restore-draft.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION, STORE_FILE } from './schema.ts'
import { damaged, guarded, inTheWay, missing, newer, occupied, orphaned } from './store-faults.ts'
import { LOCK_FILE, lockStore } from './store-lock.ts'
import { hidesCommits } from './wal-damage.ts'

export type { Restored }

export interface StoreFileOptions {
  /** The data directory, absolute. */
  readonly directory: string
  readonly create: 'never' | 'if-missing'
  /** Milliseconds to wait for another process to let go of the store. */
  readonly lockWaitMs: number
  /** Whether every write that this process may send has an intent on record first. */
  readonly intentsComplete: boolean
}

export interface OpenStore {
  readonly db: DatabaseSync
  readonly directory: string
  readonly origin: StoreOrigin
  readonly floor: Token
  /** Wall clock of the latest that is on record, about: what was used or noted last. */
  readonly latestMs: number
  readonly counts: StoreCounts
  sizes(): Pick<StoreState, 'bytes' | 'walBytes' | 'freeBytes'>
  /** Throws if the files are not the ones that were opened: what is written then is lost. */
  requireInPlace(): void
  close(): void
}

/**
 * Makes a store in which every task starts at `floor`. With a floor above 0 it replaces another store, so
 * its first start waits out `restartGrace` as after an unclean stop.
 */
export function initStore(directory: string, floor: Token, lockWaitMs: number): void {
  makeStore(directory, lockWaitMs, (draft) => writeNew(draft, floor))
}

/** Makes a store from a backup, as of which nothing that was recorded since is known: see `restore-draft.ts`. */
export function restoreStore(directory: string, restore: Restore, lockWaitMs: number): Restored {
  return makeStore(directory, lockWaitMs, (draft) => restoreTo(draft, restore), restore.file)
}

function makeStore<T>(
  directory: string,
  lockWaitMs: number,
  write: (draft: string) => T,
  source?: string,
): T {
  return guarded(directory, () => {
    makeDirectory(directory)
    requireLocalFileSystem(directory)
    const unlock = lockStore(directory, lockWaitMs)
    try {
      if (fs.existsSync(path.join(directory, STORE_FILE))) throw occupied(directory)
      if (source !== undefined && isDraft(directory, source)) throw inTheWay(source)
      return createFile(directory, write)
    } finally {
      unlock()
    }
  })
}

/** Opens the store for the one process that may write it. Throws {@link ExitError}; blocks the thread. */
export function openStore(options: StoreFileOptions): OpenStore {
  const { directory, create } = options
  return guarded(directory, () => {
    const file = path.join(directory, STORE_FILE)
    if (create === 'if-missing') makeDirectory(directory)
    else if (!fs.existsSync(file)) throw missing(directory)
    requireLocalFileSystem(directory)
    const unlock = lockStore(directory, options.lockWaitMs)
    try {
      const created = !fs.existsSync(file)
      if (created && create === 'never') throw missing(directory)
      if (created) createFile(directory, (draft) => writeNew(draft, 0n))
      return openFile(options, created, unlock)
    } catch (error) {
      unlock()
      throw error
    }
  })
}

function openFile(options: StoreFileOptions, created: boolean, unlock: () => void): OpenStore {
  const { directory } = options
  const file = path.join(directory, STORE_FILE)
  // A clean stop leaves no WAL, so there is one only after an unclean stop.
  const wal = `${file}-wal`
  if (fs.existsSync(wal)) {
    if (hidesCommits(wal)) throw damaged(directory, 'marks stand in its log behind damage')
    rewriteDurably(wal)
  }
  let db = openExclusively(directory)
  try {
    const meta = readMeta(db)
    if (!meta) throw damaged(directory, 'its meta row is missing')
    const unclean = meta.clean_stop === 0n
    if (unclean) requireIntact(db, directory)
    const version = versionOf(db)
    let migrated: StoreOrigin['migrated']
    if (version < SCHEMA_VERSION) {
      // The copy is of a file that is closed: closing a second one would lose this process its locks.
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
      migrated = { from: version, copy: keepCopy(file, version) }
      db = openExclusively(directory)
      migrate(db)
    }
    const lastEntry = db.prepare('SELECT coalesce(max(seq), 0) AS seq FROM journal').get()?.seq as number
    const intentsWereComplete = meta.intents_complete === 1n
    // Writes of a process before the last one may still be at work, if the last one waited for them.
    const needsGrace = unclean && !intentsWereComplete
    const intentsComplete = options.intentsComplete && !needsGrace
    // Durable before anything is served, and not in the WAL alone: should this process die and its WAL be lost,
    // the next start knows. The log begins anew, so that it holds commits of this process only.
    db.prepare('UPDATE meta SET clean_stop = 0, intents_complete = ?').run(intentsComplete ? 1 : 0)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return {
      db,
      directory,
      floor: meta.floor as bigint,
      latestMs: latestOn(db),
      origin: { unclean, intentsWereComplete, created, createdAtMs: Number(meta.created_at_ms), migrated },
      counts: {
        tasks: Number(meta.tasks),
        commitSequence: Number(meta.commit_sequence),
        unresolved: Number(meta.unresolved),
        frozen: Number(meta.frozen),
        lastEntry,
      },
      sizes: () => sizesOf(directory),
      requireInPlace: inPlace([file, path.join(directory, LOCK_FILE)]),
      close() {
        db.close()
        unlock()
      },
    }
  } catch (error) {
    if (db.isOpen) db.close()
    throw error
  }
}

function openExclusively(directory: string): DatabaseSync {
  const db = new DatabaseSync(path.join(directory, STORE_FILE))
  try {
    // Before the first read, which makes the WAL index: it stays in this process's memory.
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    requireOurs(db, directory)
    configure(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Remembers which files these are. Without them a second process could open a store in their place. */
function inPlace(files: readonly string[]): () => void {
  const inode = (file: string) => fs.statSync(file, { throwIfNoEntry: false })?.ino
  const opened = files.map(inode)
  return () => {
    for (const [i, file] of files.entries()) {
      if (inode(file) !== opened[i]) throw new Error(`${file} was removed or replaced while it was open`)
    }
  }
}

function sizesOf(directory: string): Pick<StoreState, 'bytes' | 'walBytes' | 'freeBytes'> {
  const file = path.join(directory, STORE_FILE)
  const bytes = (name: string) => fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const { bavail, bsize } = fs.statfsSync(directory)
  return { bytes: bytes(file), walBytes: bytes(`${file}-wal`), freeBytes: bavail * bsize }
}

/** Whether it is a file that makes way for the draft of a new store. */
function isDraft(directory: string, file: string): boolean {
  if (!fs.existsSync(file)) return false
  return fs.realpathSync(file).startsWith(path.join(fs.realpathSync(directory), `${STORE_FILE}.new`))
}

/** Written under another name, fsynced and renamed: a store exists whole or not at all. */
function createFile<T>(directory: string, write: (draft: string) => T): T {
  const file = path.join(directory, STORE_FILE)
  const orphan = ['-wal', '-journal'].map((suffix) => `${file}${suffix}`).find((name) => fs.existsSync(name))
  if (orphan) throw orphaned(directory, orphan) // SQLite would write it into the new store.
  const draft = `${file}.new`
  const clear = () => {
    for (const suffix of ['', '-wal', '-journal']) fs.rmSync(`${draft}${suffix}`, { force: true })
  }
  clear()
  try {
    const written = write(draft)
    syncFile(draft)
    fs.renameSync(draft, file)
    syncDirectory(directory)
    return written
  } catch (error) {
    clear()
    throw error
  }
}

function writeNew(draft: string, floor: Token): void {
  const db = new DatabaseSync(draft)
  try {
    db.exec(`BEGIN; ${SCHEMA}`)
    db.prepare('INSERT INTO meta VALUES (1, ?, 0, ?, 0, ?)').run(Date.now(), floor === 0n ? 1 : 0, floor)
    db.exec('COMMIT')
  } finally {
    db.close()
  }
}

/**
 * FULL fsyncs the WAL at each commit. Checkpoints are made by the commit worker, so that their failures are
 * seen. What is deleted is overwritten: recorded answers are private.
 */
function configure(db: DatabaseSync): void {
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = 1;
    PRAGMA checkpoint_fullfsync = 1;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA secure_delete = ON;
  `)
}

function requireOurs(db: DatabaseSync, directory: string): void {
  const applicationId = pragma(db, 'application_id')
  if (applicationId !== BigInt(APPLICATION_ID)) throw damaged(directory, 'it is not a fencegate store')
  const version = pragma(db, 'user_version')
  if (version < 1n) throw damaged(directory, `there is no schema version ${version}`)
  if (version > BigInt(SCHEMA_VERSION)) throw newer(directory, version)
}

/**
 * Counting the tasks visits every page of marks, so damage that SQLite can see is seen here. Intents without an
 * ending count as unresolved: this start makes them unknown outcomes.
 */
function readMeta(db: DatabaseSync): Record<string, SQLOutputValue> | undefined {
  const statement = db.prepare(
    'SELECT created_at_ms, clean_stop, intents_complete, floor, commit_sequence, ' +
      '(SELECT count(*) FROM marks) AS tasks, (SELECT count(*) FROM frozen) AS frozen, ' +
      '(SELECT count(*) FROM writes WHERE resolution IS NULL) AS unresolved FROM meta',
  )
  statement.setReadBigInts(true)
  return statement.get()
}

/** Not the newest entry alone: the clock may have been set back just before it. */
function latestOn(db: DatabaseSync): number {
  const newest = (table: string) => `(SELECT at_ms FROM ${table} ORDER BY seq DESC LIMIT 100)`
  const times = `SELECT created_at_ms AS at_ms FROM meta UNION ALL SELECT max(used_at_ms) FROM marks UNION ALL
    SELECT * FROM ${newest('journal')} UNION ALL SELECT * FROM ${newest('attempts')}`
  return db.prepare(`SELECT max(at_ms) AS latest FROM (${times})`).get()?.latest as number
}

function requireIntact(db: DatabaseSync, directory: string): void {
  const [first] = db.prepare('PRAGMA integrity_check(1)').all()
  if (first?.integrity_check !== 'ok') throw damaged(directory, `integrity check: ${first?.integrity_check}`)
}

function pragma(db: DatabaseSync, name: string): bigint {
  const statement = db.prepare(`PRAGMA ${name}`)
  statement.setReadBigInts(true)
  return statement.get()?.[name] as bigint
}
