/**
 * Making and opening the store's file. A start that cannot prove the store ends here, with a message that
 * says what to do; it never goes on with an empty one instead.
 */
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { EXIT, ExitError } from '../errors.ts'
import type { Token } from '../token.ts'
import { makeDirectory, requireLocalFileSystem, rewriteDurably, syncDirectory } from './durable-files.ts'
import type { StoreCounts, StoreOrigin, StoreState } from './mark-store.ts'
import { APPLICATION_ID, migrationFrom, SCHEMA, SCHEMA_VERSION, STORE_FILE } from './schema.ts'
import { LOCK_FILE, lockStore } from './store-lock.ts'
import { hidesCommits } from './wal-damage.ts'

/** SQLite's primary result codes for another schema (ERROR), a damaged file (CORRUPT) and no database (NOTADB). */
const FOREIGN_OR_DAMAGED = new Set([1, 11, 26])

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
  guarded(directory, () => {
    makeDirectory(directory)
    requireLocalFileSystem(directory)
    const unlock = lockStore(directory, lockWaitMs)
    try {
      if (fs.existsSync(path.join(directory, STORE_FILE))) {
        throw new ExitError(
          EXIT.unavailable,
          `store.path: ${directory} already holds a store. Nothing was changed: a store is never replaced, ` +
            'because that would forget its marks.',
        )
      }
      createFile(directory, floor)
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
      if (created) createFile(directory, 0n)
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
  const db = new DatabaseSync(file)
  try {
    // Before the first read, which makes the WAL index: it stays in this process's memory.
    db.exec('PRAGMA locking_mode = EXCLUSIVE')
    requireOurs(db, directory)
    configure(db)
    const meta = readMeta(db)
    if (!meta) throw damaged(directory, 'its meta row is missing')
    const unclean = meta.clean_stop === 0n
    if (unclean) requireIntact(db, directory)
    migrate(db)
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
      origin: { unclean, intentsWereComplete, created, createdAtMs: Number(meta.created_at_ms) },
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

/** Written under another name, fsynced and renamed: a store exists whole or not at all. */
function createFile(directory: string, floor: Token): void {
  const file = path.join(directory, STORE_FILE)
  const orphan = ['-wal', '-journal'].map((suffix) => `${file}${suffix}`).find((name) => fs.existsSync(name))
  if (orphan) throw orphaned(directory, orphan) // SQLite would write it into the new store.
  const draft = `${file}.new`
  fs.rmSync(draft, { force: true })
  const db = new DatabaseSync(draft)
  try {
    db.exec('PRAGMA synchronous = FULL')
    db.exec(`BEGIN; ${SCHEMA}`)
    db.prepare('INSERT INTO meta VALUES (1, ?, 0, ?, 0, ?)').run(Date.now(), floor === 0n ? 1 : 0, floor)
    db.exec('COMMIT')
  } finally {
    db.close()
  }
  fs.renameSync(draft, file)
  syncDirectory(directory)
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

/** Brings a store of an older version to this one: whole, or not at all. */
function migrate(db: DatabaseSync): void {
  const version = Number(pragma(db, 'user_version'))
  if (version < SCHEMA_VERSION) db.exec(`BEGIN IMMEDIATE; ${migrationFrom(version)}; COMMIT`)
}

function requireOurs(db: DatabaseSync, directory: string): void {
  const applicationId = pragma(db, 'application_id')
  if (applicationId !== BigInt(APPLICATION_ID)) throw damaged(directory, 'it is not a fencegate store')
  const version = pragma(db, 'user_version')
  if (version < 1n) throw damaged(directory, `there is no schema version ${version}`)
  if (version > BigInt(SCHEMA_VERSION)) {
    throw new ExitError(
      EXIT.unavailable,
      `store.path: ${directory} was written by a newer fencegate (schema ${version}, this binary knows ` +
        `${SCHEMA_VERSION}). Run that version; this one changed nothing.`,
    )
  }
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

function requireIntact(db: DatabaseSync, directory: string): void {
  const [first] = db.prepare('PRAGMA integrity_check(1)').all()
  if (first?.integrity_check !== 'ok') throw damaged(directory, `integrity check: ${first?.integrity_check}`)
}

function pragma(db: DatabaseSync, name: string): bigint {
  const statement = db.prepare(`PRAGMA ${name}`)
  statement.setReadBigInts(true)
  return statement.get()?.[name] as bigint
}

function missing(directory: string): ExitError {
  return new ExitError(
    EXIT.unavailable,
    `store.path: there is no store in ${directory}, and store.create is "never". If this is a new resource, ` +
      'make one with "fencegate init". If a store was here, its marks are lost: make one with ' +
      '"fencegate init --floor N", N at or above every token ever granted.',
  )
}

function orphaned(directory: string, orphan: string): ExitError {
  return new ExitError(
    EXIT.unavailable,
    `store.path: ${orphan} belongs to a store whose ${STORE_FILE} is gone from ${directory}; its last marks are ` +
      `in it. Nothing was made. Bring ${STORE_FILE} back; or move both away and make a new store with ` +
      '"fencegate init --floor N", N at or above every token ever granted.',
  )
}

function damaged(directory: string, how: string): ExitError {
  return new ExitError(
    EXIT.unavailable,
    `store.path: the store in ${directory} is damaged or foreign: ${how}. It was not opened. Restore a backup; ` +
      'or move it away and make a new one with "fencegate init --floor N", N at or above every token ever granted.',
  )
}

/** Turns what the file system and SQLite throw into an {@link ExitError} that says what to do. */
function guarded<T>(directory: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ExitError) throw error
    const { code, errcode, message } = error as { code?: string; errcode?: number; message: string }
    if (errcode !== undefined && FOREIGN_OR_DAMAGED.has(errcode & 0xff)) throw damaged(directory, message)
    const cause = code === 'ERR_SQLITE_ERROR' ? `SQLite error ${errcode}: ${message}` : message
    throw new ExitError(
      EXIT.unavailable,
      `store.path: ${directory} can't be used: ${cause}. Check that the directory exists, that this user ` +
        'may write in it, and that its disk has room.',
      { cause: error },
    )
  }
}
