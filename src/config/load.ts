/**
 * File, environment and flags to one frozen {@link Config}, or one error that tells every fault.
 *
 * The order is the point: what the schema refuses is noted and taken out, flags and environment are put over
 * the rest, and all of that is read, so that one run tells a person everything that is wrong.
 */
import path from 'node:path'
import { EXIT, ExitError } from '../errors.ts'
import { check, fillIn } from './check.ts'
import type { Config, StoreConfig } from './config.ts'
import { Faults } from './faults.ts'
import { ConfigFiles, type FileStamps } from './files.ts'
import { resolve } from './resolve.ts'
import type { RouteFile } from './schema.ts'
import { CONFIG_VARIABLE, type Environment, type Flags, overlay, refuseUnknownVariables } from './sources.ts'
import { warningsOf } from './warnings.ts'
import { readYamlFile } from './yaml-file.ts'

export interface ConfigSources {
  /** The value of `--config`. */
  readonly file?: string | undefined
  readonly env: Environment
  readonly flags: Flags
}

export interface LoadedConfig {
  readonly config: Config
  readonly warnings: readonly string[]
  /** The absolute paths of all that it was read from: the file itself, certificates, keys, credentials. */
  readonly files: readonly string[]
  /** The same files, each as it was when it was read: where a `FileWatch` begins. */
  readonly stamps: FileStamps
}

/** The configuration has faults: one line each. */
export class ConfigError extends ExitError {
  /** What was read, or couldn't be: a change to one of these may mend it. */
  readonly stamps: FileStamps

  constructor(message: string, stamps: FileStamps) {
    super(EXIT.usage, message)
    this.stamps = stamps
  }
}

/** All that `serve` needs. Throws {@link ConfigError}. */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const { config, stamps } = load(sources, true)
  return { config, warnings: warningsOf(config), files: [...stamps.keys()], stamps }
}

/** What `init` needs: the same configuration, but nobody has to name an upstream yet. */
export function loadStoreConfig(sources: ConfigSources): StoreConfig {
  return load(sources, false).config.store
}

interface Loaded {
  readonly config: Config
  readonly stamps: FileStamps
}

function load({ file, env, flags }: ConfigSources, upstreamRequired: boolean): Loaded {
  const faults = new Faults()
  refuseUnknownVariables(env, faults)
  const configFile = file ?? env[CONFIG_VARIABLE]
  const directory = configFile === undefined ? process.cwd() : path.dirname(path.resolve(configFile))
  const files = new ConfigFiles(directory)
  const source = configFile === undefined ? {} : readYamlFile(configFile, files, faults)
  const tree = check(source ?? {}, faults)
  const overlaid = overlay(tree, env, flags)
  // The default route has no settings but the defaults. `concat` keeps the holes that `check` leaves.
  tree.routes = tree.routes.concat({} as RouteFile)
  const config = resolve(
    fillIn(tree),
    {
      files,
      dataDirectory: overlaid.has('store.path') ? process.cwd() : directory,
      // Where the file could not be read, it may well name one.
      upstreamRequired: upstreamRequired && source !== undefined,
    },
    faults,
  )
  const lines = faults.lines(overlaid)
  if (lines.length > 0) throw new ConfigError(summary(lines, configFile), files.stamps)
  return { config: deepFreeze(config), stamps: files.stamps }
}

function summary(lines: readonly string[], configFile: string | undefined): string {
  const where = configFile === undefined ? '' : ` (${configFile})`
  const count = lines.length === 1 ? 'a fault' : `${lines.length} faults`
  return [`the configuration${where} has ${count}:`, ...lines.map((line) => `  ${line}`)].join('\n')
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  // The bytes of a key can't be frozen.
  if (ArrayBuffer.isView(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
