/**
 * The file system under the store: local or refused, and fsynced where SQLite leaves that to us.
 *
 * POSIX locks and fsync mean what they say only on a local file system; on NFS and its like two enforcers
 * could both believe that they hold the store.
 */
import fs from 'node:fs'
import path from 'node:path'
import { EXIT, ExitError } from '../errors.ts'

/** statfs(2) `f_type` of the local file systems that are known to keep locks and fsync. */
const LOCAL_FILE_SYSTEMS = new Map([
  [0xef53, 'ext2/3/4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlayfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0xca451a4e, 'bcachefs'],
  [0x3153464a, 'jfs'],
  [0x52654973, 'reiserfs'],
])

/** Where `directory` is, if that is no file system known to be local. Looked at on Linux only. */
export function foreignFileSystem(
  directory: string,
  statfs: (path: string) => { type: number } = fs.statfsSync,
): string | undefined {
  if (process.platform !== 'linux') return undefined
  const type = statfs(directory).type >>> 0
  return LOCAL_FILE_SYSTEMS.has(type) ? undefined : `a file system (type 0x${type.toString(16)})`
}

/** Throws {@link ExitError} unless `directory` is on a local file system. */
export function requireLocalFileSystem(directory: string, statfs?: (path: string) => { type: number }): void {
  const foreign = foreignFileSystem(directory, statfs)
  if (foreign === undefined) return
  throw new ExitError(
    EXIT.unavailable,
    `store.path: ${directory} is on ${foreign} that is not known to be ` +
      'local. NFS, CIFS, FUSE, 9p, CephFS and the like do not keep locks and fsync as the marks need them. ' +
      `Put it on a local one: ${[...LOCAL_FILE_SYSTEMS.values()].join(', ')}.`,
  )
}

/** Makes the directory's entries durable. */
export function syncDirectory(directory: string): void {
  sync(directory, 'r')
}

/** Makes the file's content durable. Not for a database that this process has open: it would lose its locks. */
export function syncFile(file: string): void {
  sync(file, 'r+')
}

function sync(name: string, flags: string): void {
  const fd = fs.openSync(name, flags)
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Makes `directory` and what is missing above it, durably. */
export function makeDirectory(directory: string): void {
  const first = fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = directory; made.length >= first.length; made = path.dirname(made)) {
    syncDirectory(path.dirname(made))
  }
}

/**
 * Writes `file` anew with its own content, fsynced, and puts it in the old one's place.
 *
 * After a failed fsync the kernel may mark pages clean that never reached the disk: they read back fine
 * until power is lost. What has been written and fsynced again is what is stored. (Rebello et al., "Can
 * Applications Recover from fsync Failures?", USENIX ATC 2020.)
 */
export function rewriteDurably(file: string): void {
  const copy = `${file}.rewrite`
  fs.copyFileSync(file, copy)
  syncFile(copy)
  fs.renameSync(copy, file)
  syncDirectory(path.dirname(file))
}
