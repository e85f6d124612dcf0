/** Takes orders for backups: one is made at a time, and a close ends it first. */
import { Backup } from './backup.ts'
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
    const failed = (failure: string) => this.#say({ kind: 'no-backup', id, failure })
    if (this.#running) {
      return failed(`no backup was made: ${this.#running.file} is being written. Ask again when it is there`)
    }
    const running = new Backup(this.#store, file)
    this.#running = running
    this.#over = running
      .run()
      .then(
        (report) => this.#say({ kind: 'backed-up', id, report }),
        (error) => failed(error.message),
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
