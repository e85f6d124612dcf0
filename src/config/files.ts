/**
 * The files that a configuration is read from. Each is remembered with how it looked right before it was read,
 * so that a watch that starts there misses no change, however late it starts.
 */
import fs from 'node:fs'
import path from 'node:path'
import { ValueFault } from './faults.ts'
import { parseFilePath } from './values.ts'

/** How a file looks from outside; a change of its content changes it. */
export type FileStamp = string

/** Absolute path: how it looked when it was read. */
export type FileStamps = ReadonlyMap<string, FileStamp>

export const MISSING: FileStamp = 'missing'

/** Of what the path leads to: a symbolic link that is turned over changes it too. */
export function stampOf({ ino, size, mtimeMs, ctimeMs }: fs.Stats): FileStamp {
  return [ino, size, mtimeMs, ctimeMs].join(' ')
}

export class ConfigFiles {
  readonly #directory: string
  readonly #stamps = new Map<string, FileStamp>()

  /** Relative paths start at `directory`. */
  constructor(directory: string) {
    this.#directory = directory
  }

  get stamps(): FileStamps {
    return this.#stamps
  }

  /** The absolute path that `file` stands for. */
  pathOf(file: string): string {
    return path.resolve(this.#directory, parseFilePath(file))
  }

  /** Whether every user of this machine may read the file. */
  othersMayRead(file: string): boolean {
    return (
      ((fs.statSync(this.pathOf(file), { throwIfNoEntry: false })?.mode ?? 0) & fs.constants.S_IROTH) !== 0
    )
  }

  /** The text of a file. `what` completes "name ... that this user may read". */
  read(file: string, what: string): string {
    if (file.includes('-----BEGIN')) {
      throw new ValueFault(`holds PEM text: write that into a file, and name ${what} that holds it`)
    }
    const full = this.pathOf(file)
    // The first look counts: what was read by then may already be old.
    if (!this.#stamps.has(full)) this.#stamps.set(full, look(full))
    try {
      return fs.readFileSync(full, 'utf8')
    } catch (error) {
      throw new ValueFault(
        `cannot be read: ${(error as Error).message}; name ${what} that this user may read`,
        { cause: error },
      )
    }
  }
}

function look(file: string): FileStamp {
  try {
    return stampOf(fs.statSync(file))
  } catch {
    return MISSING
  }
}
