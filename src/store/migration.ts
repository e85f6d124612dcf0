/**
 * Brings a store of an older version to this one.
 *
 * Invariants: before a store in place is changed there is a durable copy of it, to which an older fencegate can go back;
 * a copy is never overwritten; a migration is done whole or not at all.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { syncDirectory, syncFile } from './durable-files.ts'
import { migrationFrom, SCHEMA_VERSION } from './schema.ts'
import { causeOf, copyName, unavailable } from './store-faults.ts'

const CHUNK_BYTES = 1024 * 1024

export function versionOf(db: DatabaseSync): number {
  return db.prepare('PRAGMA user_version').get()?.user_version as number
}

export function migrate(db: DatabaseSync): void {
  const version = versionOf(db)
  if (version < SCHEMA_VERSION) db.exec(`BEGIN IMMEDIATE; ${migrationFrom(version)}; COMMIT`)
}

/**
 * Copies the store's file, which must be closed and without a log, to the name that says its version. A copy of that name
 * with other content, of an earlier migration, is kept under a name with a number behind it. Returns that of the copy.
 */
export function keepCopy(file: string, version: number): string {
  const directory = path.dirname(file)
  const copy = path.join(directory, copyName(version))
  const draft = `${copy}.new`
  try {
    fs.rmSync(draft, { force: true })
    if (fs.existsSync(copy)) {
      if (isSame(file, copy)) {
        syncFile(copy) // Whoever made it may have been killed before that.
        syncDirectory(directory)
        return copy
      }
      fs.renameSync(copy, freeName(copy))
    }
    fs.copyFileSync(file, draft, fs.constants.COPYFILE_FICLONE)
    syncFile(draft)
    fs.renameSync(draft, copy)
    syncDirectory(directory)
    return copy
  } catch (error) {
    fs.rmSync(draft, { force: true })
    throw unavailable(
      `store.path: the store in ${directory} is of an older version (schema ${version}, this binary's is ` +
        `${SCHEMA_VERSION}), and can't be copied to ${copy} before it is brought to this one: ${causeOf(error)}. ` +
        `It was not changed. Make room for its ${fs.statSync(file).size} bytes and as many again, and start anew.`,
      error,
    )
  }
}

function freeName(copy: string): string {
  let number = 1
  while (fs.existsSync(`${copy}.${number}`)) number++
  return `${copy}.${number}`
}

function isSame(file: string, other: string): boolean {
  const files = [file, other].map((name) => fs.openSync(name, 'r'))
  const chunks = files.map(() => Buffer.alloc(CHUNK_BYTES))
  try {
    for (;;) {
      const [mine, others] = files.map((fd, i) =>
        chunks[i]?.subarray(0, fs.readSync(fd, chunks[i] as Buffer)),
      )
      if (!mine || !others?.equals(mine)) return false
      if (mine.length === 0) return true
    }
  } finally {
    for (const fd of files) fs.closeSync(fd)
  }
}
