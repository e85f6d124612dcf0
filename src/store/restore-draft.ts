/**
 * Makes a draft of a store from a backup. What was recorded since the backup is lost, so every mark is raised to the floor
 * that the caller gives, which is at or above every token ever granted, and the first start is one after an unclean stop.
 *
 * Invariants: the backup is only read; no mark and no floor in the draft is below the floor given; it is of this version.
 */
import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { EXIT, ExitError } from '../errors.ts'
import type { Author } from '../journal/records.ts'
import type { Token } from '../token.ts'
import { JournalTable } from './journal-table.ts'
import { migrate } from './migration.ts'
import { APPLICATION_ID, SCHEMA_VERSION } from './schema.ts'
import { causeOf, tellsDamage, unavailable } from './store-faults.ts'

export interface Restore extends Author {
  /** The backup, an absolute path. */
  readonly file: string
  readonly floor: Token
}

/** What was restored. */
export interface Restored {
  readonly tasks: number
  readonly unresolved: number
}

const MAGIC = 'SQLite format 3\0'
/** Of the file format, https://www.sqlite.org/fileformat.html, section 1.3. */
const HEADER = { bytes: 100, userVersion: 60, applicationId: 68 }

/** Throws {@link ExitError}; then the draft is of no use. */
export function restoreTo(draft: string, restore: Restore): Restored {
  const { file } = restore
  try {
    requireBackup(file)
    fs.copyFileSync(file, draft, fs.constants.COPYFILE_FICLONE)
    fs.chmodSync(draft, 0o600)
    return rewrite(draft, restore)
  } catch (error) {
    if (error instanceof ExitError) throw error
    if (tellsDamage(error as { errcode?: number })) throw unsound(file, (error as Error).message)
    throw unavailable(
      `${file} can't be restored: ${causeOf(error)}. Nothing was made. Check that it is there, that this user may ` +
        'read it, and that the disk of the store has room for it.',
      error,
    )
  }
}

/** What can be told without reading all of it, so that a file that is something else is refused at once. */
function requireBackup(file: string): void {
  if (!fs.statSync(file).isFile()) throw unsound(file, 'it is not a file')
  if (fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size) {
    throw unsound(file, `${file}-wal lies beside it, so it is the file of a store rather than a backup`)
  }
  const header = Buffer.alloc(HEADER.bytes)
  const fd = fs.openSync(file, 'r')
  try {
    fs.readSync(fd, header)
  } finally {
    fs.closeSync(fd)
  }
  const isOurs = header.toString('latin1', 0, MAGIC.length) === MAGIC
  if (!isOurs || header.readUInt32BE(HEADER.applicationId) !== APPLICATION_ID) {
    throw unsound(file, 'it is not a fencegate store')
  }
  const version = header.readUInt32BE(HEADER.userVersion)
  if (version < 1) throw unsound(file, `there is no schema version ${version}`)
  if (version > SCHEMA_VERSION) {
    throw unavailable(
      `${file} was written by a newer fencegate (schema ${version}, this binary knows ${SCHEMA_VERSION}). Nothing was ` +
        'made. Restore it with that version.',
    )
  }
}

function rewrite(draft: string, restore: Restore): Restored {
  const db = new DatabaseSync(draft)
  try {
    // Whoever made the draft syncs it once it is whole; what fails on the way is thrown away.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF')
    const [first] = db.prepare('PRAGMA integrity_check(1)').all()
    if (first?.integrity_check !== 'ok')
      throw unsound(restore.file, `integrity check: ${first?.integrity_check}`)
    migrate(db)
    requireHighEnough(db, restore)
    db.exec('BEGIN')
    raiseAll(db, restore.floor)
    const { file, floor, by, reason } = restore
    const act = { kind: 'restore', task: undefined, token: undefined, by, reason, atMs: Date.now() } as const
    new JournalTable(db).act({ ...act, details: { file, floor } })
    db.exec('COMMIT')
    const { tasks, unresolved } = db.prepare(COUNTS).get() as Record<string, number>
    return { tasks: tasks as number, unresolved: unresolved as number }
  } finally {
    db.close()
  }
}

const COUNTS =
  'SELECT (SELECT count(*) FROM marks) AS tasks, (SELECT count(*) FROM writes WHERE resolution IS NULL) AS unresolved'

function requireHighEnough(db: DatabaseSync, { file, floor }: Restore): void {
  const statement = db.prepare('SELECT task, token FROM marks ORDER BY token DESC LIMIT 1')
  statement.setReadBigInts(true)
  const highest = statement.get() as { task: string; token: Token } | undefined
  if (!highest || highest.token <= floor) return
  throw new ExitError(
    EXIT.usage,
    `--floor: ${floor} is below a mark in ${file}: ${highest.task} has ${highest.token}. Nothing was made. Give a ` +
      'floor at or above every token ever granted, those since the backup among them: below it stale holders could ' +
      'write again.',
  )
}

/** Nobody knows how long ago the backup was made, so each mark counts as used now. */
function raiseAll(db: DatabaseSync, floor: Token): void {
  db.prepare('UPDATE marks SET token = ?1, complete = 0, holder = NULL WHERE token < ?1').run(floor)
  db.prepare('UPDATE marks SET used_at_ms = max(used_at_ms, ?)').run(Date.now())
  db.prepare('UPDATE floors SET floor = max(floor, ?)').run(floor)
  const meta = 'UPDATE meta SET floor = max(floor, ?), clean_stop = 0, intents_complete = 0, '
  if (db.prepare(`${meta} commit_sequence = commit_sequence + 1`).run(floor).changes !== 1) {
    throw Object.assign(new Error('its meta row is missing'), { errcode: 11 })
  }
}

function unsound(file: string, how: string): ExitError {
  return unavailable(
    `${file} is damaged, or no backup of a store: ${how}. Nothing was made. Take an older backup; without one make a ` +
      'new store with "fencegate init --floor N", N at or above every token ever granted.',
  )
}
