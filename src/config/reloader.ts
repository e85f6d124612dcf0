/**
 * Puts a new configuration in force while the process runs: when asked, or when one of its files has changed.
 *
 * Invariants: a configuration is taken whole or not at all; one that is faulty, or that needs a restart, is reported
 * and the one in force stays; one reload at a time, and none once it is closed.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './config.ts'
import { ConfigError, type LoadedConfig } from './load.ts'
import { reloaded } from './reload.ts'
import { FileWatch } from './watch.ts'

export interface ReloaderParts {
  /** What is in force. */
  readonly loaded: LoadedConfig
  /** Reads the same sources again. Throws {@link ConfigError}. */
  readonly load: () => LoadedConfig
  /** Puts the configuration in force; rejects if it can't, and then nothing has changed. */
  readonly apply: (config: Config) => Promise<void>
  readonly report: ReloadReport
}

export interface ReloadReport {
  applied(cause: string, warnings: readonly string[]): void
  unchanged(cause: string): void
  /** `message` says what is wrong and what to do; it holds no secret. */
  refused(cause: string, message: string): void
}

export class Reloader {
  readonly #parts: ReloaderParts
  readonly #watch: FileWatch
  #config: Config
  #last: Promise<void> = Promise.resolve()
  #closed = false

  constructor(parts: ReloaderParts) {
    this.#parts = parts
    const { config, stamps } = parts.loaded
    this.#config = config
    this.#watch = new FileWatch({
      intervalMs: config.reloadIntervalMs,
      changed: () => void this.reload('a file has changed'),
    })
    this.#watch.watch(stamps)
  }

  /** Resolves when the reload, and those asked for before it, have ended; never rejects. */
  reload(cause: string): Promise<void> {
    this.#last = this.#last.then(() => this.#reload(cause))
    return this.#last
  }

  /** Waits for a reload that is under way; there is none from then on, as what it would change is going. */
  async close(): Promise<void> {
    this.#closed = true
    this.#watch.close()
    await this.#last
  }

  async #reload(cause: string): Promise<void> {
    if (this.#closed) return
    const { load, apply, report } = this.#parts
    try {
      const { config, warnings, stamps } = load()
      this.#watch.watch(stamps)
      if (isDeepStrictEqual(config, this.#config)) return report.unchanged(cause)
      const fixed = reloaded(this.#config, config)
      if (fixed.length > 0) {
        return report.refused(
          cause,
          `only a restart can change ${fixed.join(', ')}: restart, or take that back`,
        )
      }
      await apply(config)
      this.#config = config
      report.applied(cause, warnings)
    } catch (error) {
      if (error instanceof ConfigError) this.#watch.watch(error.stamps)
      report.refused(cause, (error as Error).message)
    }
  }
}
