/** Another process's commits, made slow, held or failed by a test. */
import fs from 'node:fs'
import path from 'node:path'
import { type SidecarOptions, temporaryDirectory } from './sidecar.ts'

export class Commits {
  readonly #file = path.join(temporaryDirectory(), 'commits')

  /** For the start of the sidecar whose commits these are. */
  get options(): Pick<SidecarOptions, 'preload' | 'env'> {
    return {
      preload: [path.join(import.meta.dirname, 'commit-hook.ts')],
      env: { TEST_COMMITS_FILE: this.#file },
    }
  }

  /** From the next one on, each commit takes `ms` milliseconds longer. */
  slow(ms: number): void {
    this.#write(String(ms))
  }

  /** From the next one on, no commit ends until `release`. */
  hold(): void {
    this.#write('hold')
  }

  /** From the next one on, each commit fails as on a full disk, until `release`. */
  fill(): void {
    this.#write('full')
  }

  release(): void {
    fs.rmSync(this.#file, { force: true })
  }

  #write(order: string): void {
    fs.writeFileSync(`${this.#file}.new`, order)
    fs.renameSync(`${this.#file}.new`, this.#file)
  }
}
