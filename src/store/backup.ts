/**
 * A copy of the open store in a new file, made beside its commits.
 *
 * SQLite copies the pages through the store's own connection, some at a time, and puts what is committed meanwhile into
 * the copy as well, so that the copy is the store as of one commit. A second connection, or only a second open file of
 * `marks.db`, would lose this process its locks on it when it is closed.
 *
 * Invariants: the file is whole, checked and synced, or not there; another file is never replaced; whatever happens to
 * the copy, the store goes on.
 */
import fs from 'node:fs'
import path from 'node:path'
import { backup, type DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { foreignFileSystem } from './durable-files.ts'
import { BackupRefused, type BackupReport, StoreError } from './mark-store.ts'
import { STORE_FILE } from './schema.ts'

/** The thread runs as the file that this one is: TypeScript in the repository, JavaScript in the package. */
const FINISHER = new URL(
  import.meta.url.endsWith('.ts') ? './backup-finisher.ts' : './backup-finisher.js',
  import.meta.url,
)

/** Copied at a time; a commit waits that long. */
const PAGES = 100
/** Pages between two syncs of the copy: else the last one would sync all of it, and commits would wait for that. */
const PAGES_PER_SYNC = 1000
/** What stays free on the store's disk. */
const MARGIN_BYTES = 64 * 1024 * 1024
/** SQLite's primary result codes for a source that is in a transaction at the moment; OK is what the first step says. */
const NOT_NOW = new Set([0, 5, 6])
const ATTEMPTS = 100
/** What the system says of a name that no file can be made by. */
const NAME_FAULTS: ReadonlySet<string> = new Set([
  ...['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM', 'EROFS', 'ELOOP', 'ENAMETOOLONG'],
  ...['ERR_FS_EISDIR', 'ERR_INVALID_ARG_VALUE'],
])
const OWN: ReadonlySet<string> = new Set(['BackupRefused', 'StoreError'])

export interface BackupSource {
  readonly db: DatabaseSync
  /** The store's directory. */
  readonly directory: string
  sizes(): { readonly bytes: number; readonly walBytes: number; readonly freeBytes: number }
}

export class Backup {
  readonly #source: BackupSource
  readonly #file: string
  /** Its file until it is whole. */
  #draft: string | undefined
  #aborted = false

  constructor(source: BackupSource, file: string) {
    this.#source = source
    this.#file = file
  }

  get file(): string {
    return this.#file
  }

  /** Ends it soon, with nothing left behind. */
  abort(): void {
    this.#aborted = true
  }

  /** Rejects with {@link BackupRefused} or {@link StoreError}, and leaves nothing behind. */
  async run(): Promise<BackupReport> {
    try {
      this.#requirePlace()
      const draft = this.#draftName()
      fs.rmSync(draft, { force: true }) // Of a process that was killed.
      const fd = fs.openSync(draft, 'wx', 0o600)
      this.#draft = draft
      try {
        await this.#copy(fd, draft)
      } finally {
        fs.closeSync(fd)
      }
      if (this.#aborted) throw new StoreError('the store is being closed')
      return await finish({ draft, file: this.#file })
    } catch (error) {
      const why = this.#explain(error)
      this.#clear()
      const Failure = this.#isRefusal(error) ? BackupRefused : StoreError
      throw new Failure(`no backup was made: ${why}`, { cause: error })
    }
  }

  #clear(): void {
    if (this.#draft === undefined) return
    for (const left of [this.#draft, `${this.#draft}-journal`]) fs.rmSync(left, { force: true })
  }

  /** This store's own, which it writes one at a time: another sidecar may be told the same name for its backup. */
  #draftName(): string {
    const { dev, ino } = fs.statSync(path.join(this.#source.directory, STORE_FILE))
    return `${this.#file}.${dev.toString(36)}-${ino.toString(36)}.partial`
  }

  #requirePlace(): void {
    const { directory } = this.#source
    const into = path.dirname(this.#file)
    if (fs.lstatSync(this.#file, { throwIfNoEntry: false })) {
      throw new BackupRefused(`${this.#file} exists already, and is never replaced: name a new file`)
    }
    const foreign = foreignFileSystem(into)
    if (foreign !== undefined) {
      throw new BackupRefused(
        `${this.#file} is on ${foreign} that is not known to be local; one that does not answer would hold up the ` +
          'commits. Name a file on a local one, and copy it from there',
      )
    }
    const [there, own] = [fs.statSync(into), fs.statSync(directory)]
    if (there.dev !== own.dev) return
    // By its number, since the same directory can be mounted at two places.
    if (there.ino === own.ino && /^(marks|lock)\.db/i.test(path.basename(this.#file))) {
      throw new BackupRefused(`${this.#file} is a name that the store itself uses: name another file`)
    }
    const { bytes, walBytes, freeBytes } = this.#source.sizes()
    const needed = bytes + walBytes + MARGIN_BYTES
    if (freeBytes < needed) {
      throw new StoreError(
        `${this.#file} is on the disk of the store, where ${freeBytes} bytes are free and ${needed} would be needed ` +
          'to leave room for marks: name a file on another disk, or make room',
      )
    }
  }

  async #copy(fd: number, draft: string): Promise<void> {
    let synced = 0
    const progress = ({ totalPages, remainingPages }: { totalPages: number; remainingPages: number }) => {
      if (this.#aborted) throw new StoreError('the store is being closed')
      const copied = totalPages - remainingPages
      if (copied < synced + PAGES_PER_SYNC) return
      fs.fdatasyncSync(fd)
      synced = copied
    }
    for (let attempt = 1; ; attempt++) {
      try {
        await backup(this.#source.db, draft, { rate: PAGES, progress })
        return
      } catch (error) {
        const { errcode } = error as { errcode?: number }
        const again =
          errcode !== undefined && NOT_NOW.has(errcode & 0xff) && attempt < ATTEMPTS && !this.#aborted
        if (!again) throw error
      }
    }
  }

  /** Whether it is the name that is wrong: before there is a draft, everything is found out from that. */
  #isRefusal(error: unknown): boolean {
    const { code = '' } = error as NodeJS.ErrnoException
    return error instanceof BackupRefused || code === 'EEXIST' || (!this.#draft && NAME_FAULTS.has(code))
  }

  #explain(error: unknown): string {
    const { code, errcode, message } = error as { code?: string; errcode?: number; message: string }
    if (code === 'EEXIST') return `another file came in the way of ${this.#file}: name a new file`
    if (OWN.has((error as Error).name)) return message // Also of one that came from another thread.
    const cause = errcode === undefined ? (code ?? message) : `SQLite error ${errcode}: ${message}`
    return `${this.#file} can't be written (${cause}). Check that its directory exists, that this user may write in it, and that its disk has room`
  }
}

/** Checks the draft in a thread of its own, syncs it and gives it its name. */
function finish(names: { readonly draft: string; readonly file: string }): Promise<BackupReport> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(FINISHER, { workerData: names })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', () => reject(new StoreError('the thread that checks the copy ended too early')))
  })
}
