/** A real file system that can be full: a tmpfs of a few megabytes. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** Of a tmpfs, and of the marks' database. */
const PAGE_BYTES = 4096

export class SmallDisk {
  /** A directory for the store. */
  readonly data: string
  readonly #mountPoint = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-disk-'))
  readonly #filler = path.join(this.#mountPoint, 'filler')

  /** Mounts it; throws if that isn't permitted. */
  constructor(megabytes: number) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', this.#mountPoint])
    this.data = path.join(this.#mountPoint, 'data')
  }

  /** Takes all the room that is left, to the last page. */
  fill(): void {
    const fd = fs.openSync(this.#filler, 'a')
    try {
      for (;;) fs.writeSync(fd, Buffer.alloc(PAGE_BYTES))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      fs.closeSync(fd)
    }
  }

  /** Gives the room back. */
  clear(): void {
    fs.rmSync(this.#filler, { force: true })
  }

  unmount(): void {
    execFileSync('umount', [this.#mountPoint])
    fs.rmdirSync(this.#mountPoint)
  }
}
