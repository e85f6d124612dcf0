/** Why a store can't be opened, made or restored, and what to do about it, for the person at the terminal. */
import fs from 'node:fs'
import path from 'node:path'
import { EXIT, ExitError } from '../errors.ts'
import { SCHEMA_VERSION, STORE_FILE } from './schema.ts'

/** SQLite's primary result codes for another schema (ERROR), a damaged file (CORRUPT) and no database (NOTADB). */
const FOREIGN_OR_DAMAGED = new Set([1, 11, 26])
const FLOOR = 'N at or above every token ever granted'

/** Whether SQLite says by it that the file is no store of ours, or no whole one. */
export function tellsDamage({ errcode }: { readonly errcode?: number }): boolean {
  return errcode !== undefined && FOREIGN_OR_DAMAGED.has(errcode & 0xff)
}

/** What failed, for a message: system calls and SQLite name it differently. */
export function causeOf(error: unknown): string {
  const { code, errcode, message } = error as { code?: string; errcode?: number; message: string }
  return code === 'ERR_SQLITE_ERROR' ? `SQLite error ${errcode}: ${message}` : message
}

export function unavailable(message: string, cause?: unknown): ExitError {
  return new ExitError(EXIT.unavailable, message, { cause })
}

export function missing(directory: string): ExitError {
  return unavailable(
    `store.path: there is no store in ${directory}, and store.create is "never". If this is a new resource, ` +
      'make one with "fencegate init". If a store was here, its marks are lost: make one with ' +
      `"fencegate init --floor N", or bring a backup back with "fencegate restore FILE --floor N", ${FLOOR}.`,
  )
}

export function occupied(directory: string): ExitError {
  return unavailable(
    `store.path: ${directory} already holds a store. Nothing was changed: a store is never replaced, ` +
      `because that would forget its marks. To make another in its place, stop its sidecar and move ${STORE_FILE}, ` +
      `and ${STORE_FILE}-wal if there is one, away.`,
  )
}

/** What has the name of the draft is removed before the draft is made: it must not be the only backup. */
export function inTheWay(backup: string): ExitError {
  return unavailable(
    `${backup} has a name that the store itself uses while it is made. Nothing was changed. Give the file another ` +
      'name, or move it elsewhere, and restore that.',
  )
}

export function orphaned(directory: string, orphan: string): ExitError {
  return unavailable(
    `store.path: ${orphan} belongs to a store whose ${STORE_FILE} is gone from ${directory}; its last marks are ` +
      `in it. Nothing was made. Bring ${STORE_FILE} back; or move both away and make a new store with ` +
      `"fencegate init --floor N", ${FLOOR}.`,
  )
}

export function damaged(directory: string, how: string): ExitError {
  return unavailable(
    `store.path: the store in ${directory} is damaged or foreign: ${how}. It was not opened. Move it away and ` +
      'bring a backup back with "fencegate restore FILE --floor N", or make a new one with ' +
      `"fencegate init --floor N", ${FLOOR}.`,
  )
}

/** Names the copy that was made before a newer version migrated the store, if it is there. */
export function newer(directory: string, version: bigint): ExitError {
  const copy = path.join(directory, copyName(SCHEMA_VERSION))
  const back = fs.existsSync(copy)
    ? ` To go back instead: ${copy} is the store as it was before that. Move ${STORE_FILE}, and ${STORE_FILE}-wal if ` +
      `there is one, away, and run "fencegate restore ${copy} --floor N", ${FLOOR}: also by that version.`
    : ''
  return unavailable(
    `store.path: ${directory} was written by a newer fencegate (schema ${version}, this binary knows ` +
      `${SCHEMA_VERSION}). Run that version; this one changed nothing.${back}`,
  )
}

/** Where a store is copied to before it is brought from this version to the next. */
export function copyName(version: number): string {
  return `${STORE_FILE}.schema-${version}`
}

/** Turns what the file system and SQLite throw into an {@link ExitError} that says what to do. */
export function guarded<T>(directory: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ExitError) throw error
    if (tellsDamage(error as { errcode?: number })) throw damaged(directory, (error as Error).message)
    throw unavailable(
      `store.path: ${directory} can't be used: ${causeOf(error)}. Check that the directory exists, that this user ` +
        'may write in it, and that its disk has room.',
      error,
    )
  }
}
