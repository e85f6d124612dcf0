/**
 * Notices when one of the files that the configuration was read from has changed, by looking at them again and
 * again: unlike notifications of the file system this works on every one, and for what a symbolic link leads to,
 * which is how Kubernetes puts new certificates and settings in place.
 *
 * A change is told when two looks in a row saw the same one, so that a file that is still being written isn't read.
 */
import fs from 'node:fs/promises'
import { type Clock, monotonicClock } from '../clock.ts'
import { type FileStamp, type FileStamps, MISSING, stampOf } from './files.ts'

export interface FileWatchOptions {
  /** From the end of a look to the next one; 0: none. */
  readonly intervalMs: number
  /** Called once for each change. What is read then goes to {@link FileWatch.watch}. */
  readonly changed: () => void
  readonly clock?: Clock
}

export class FileWatch {
  readonly #intervalMs: number
  readonly #changed: () => void
  readonly #clock: Clock
  /** What is in force, or was told last. */
  #accepted: FileStamps = new Map()
  /** What the last look saw, if that differed. */
  #suspected: FileStamps | undefined
  #cancel: (() => void) | undefined
  #closed = false

  constructor({ intervalMs, changed, clock = backgroundClock }: FileWatchOptions) {
    this.#intervalMs = intervalMs
    this.#changed = changed
    this.#clock = clock
  }

  /** Watches these files instead of those before. Each is compared with how it looked when it was read. */
  watch(stamps: FileStamps): void {
    this.#accepted = stamps
    this.#suspected = undefined
    this.#schedule()
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
  }

  #schedule(): void {
    this.#cancel?.()
    if (this.#closed || this.#intervalMs === 0) return
    this.#cancel = this.#clock.after(this.#intervalMs, () => this.#look())
  }

  async #look(): Promise<void> {
    const accepted = this.#accepted
    const seen = await stampsOf(accepted.keys())
    // Other files are watched by now, and have a timer of their own.
    if (this.#closed || this.#accepted !== accepted) return
    if (areEqual(seen, accepted)) {
      this.#suspected = undefined
    } else if (this.#suspected !== undefined && areEqual(seen, this.#suspected)) {
      this.#accepted = seen
      this.#suspected = undefined
      this.#changed()
    } else {
      this.#suspected = seen
    }
    this.#schedule()
  }
}

/** Nobody waits for a look: it doesn't keep a process alive that has nothing else to do. */
const backgroundClock: Clock = {
  now: monotonicClock.now,
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}

async function stampsOf(files: Iterable<string>): Promise<FileStamps> {
  const looks = [...files].map(async (file): Promise<[string, FileStamp]> => {
    try {
      return [file, stampOf(await fs.stat(file))]
    } catch {
      return [file, MISSING]
    }
  })
  return new Map(await Promise.all(looks))
}

function areEqual(one: FileStamps, other: FileStamps): boolean {
  return [...one].every(([file, stamp]) => other.get(file) === stamp)
}
