/** Takes orders for backups: one is made at a time, and a close ends it first. */
import { Backup } from './backup.ts'
import { BackupRefused } from './mark-store.ts'
import type { FromWorker } from './messages.ts'
import type { OpenStore } from './store-file.ts'

export class BackupDesk {
  readonly #store: OpenStore
  readonly #say: (message: FromWorker) => void
  #running: Backup | undefined
  #over: Promise<void> = Promise.resolve()

  constructor(store: OpenStore, say: (message: FromWorker) => void) {
    this.#store = store
    this.#say = say
  }

  start(id: number, file: string): void {
    const failed = (failure: string, refused = false) =>
      this.#say({ kind: 'no-backup', id, failure, refused })
    if (this.#running) {
      return failed(`no backup was made: ${this.#running.file} is being written. Ask again when it is there`)
    }
    const running = new Backup(this.#store, file)
    this.#running = running
    this.#over = running
      .run()
      .then(
        (report) => this.#say({ kind: 'backed-up', id, report }),
        (error: Error) => failed(error.message, error instanceof BackupRefused),
      )
      .finally(() => {
        this.#running = undefined
      })
  }

  async close(): Promise<void> {
    this.#running?.abort()
    await this.#over
  }
}
