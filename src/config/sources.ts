/** What flags and the environment put over the file: flags beat environment beats file. */
import type { Faults } from './faults.ts'
import { nearest } from './faults.ts'
import type { ConfigFile } from './schema.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The values of `--upstream`, `--listen`, `--admin` and `--data`, where given. */
export interface Flags {
  readonly upstream?: string
  readonly listen?: string
  readonly admin?: string
  readonly data?: string
}

interface Setting {
  readonly keyPath: string
  readonly flag: keyof Flags
  readonly variable: string
  /** Replaces mappings rather than changing them: by a YAML alias a route may share one. */
  set(tree: ConfigFile, value: string): void
}

const SETTINGS: readonly Setting[] = [
  {
    keyPath: 'upstream.url',
    flag: 'upstream',
    variable: 'FENCEGATE_UPSTREAM',
    set: (tree, value) => {
      tree.upstream = { ...tree.upstream, url: value }
    },
  },
  {
    keyPath: 'listen',
    flag: 'listen',
    variable: 'FENCEGATE_LISTEN',
    set: (tree, value) => {
      tree.listen = value
    },
  },
  {
    keyPath: 'admin.listen',
    flag: 'admin',
    variable: 'FENCEGATE_ADMIN',
    set: (tree, value) => {
      tree.admin = { ...tree.admin, listen: value }
    },
  },
  {
    keyPath: 'store.path',
    flag: 'data',
    variable: 'FENCEGATE_DATA',
    set: (tree, value) => {
      tree.store = { ...tree.store, path: value }
    },
  },
]

/** Names the configuration file, where `--config` doesn't. */
export const CONFIG_VARIABLE = 'FENCEGATE_CONFIG'

/** Where commands find a running sidecar's admin port, and the token for it. */
export const SERVER_VARIABLE = 'FENCEGATE_SERVER'
export const TOKEN_FILE_VARIABLE = 'FENCEGATE_TOKEN_FILE'

/** Puts flags and environment over the tree. Returns, by key path, where each such value came from. */
export function overlay(tree: ConfigFile, env: Environment, flags: Flags): Map<string, string> {
  const sources = new Map<string, string>()
  for (const { keyPath, flag, variable, set } of SETTINGS) {
    const value = flags[flag] ?? env[variable]
    if (value === undefined) continue
    set(tree, value)
    sources.set(keyPath, flags[flag] === undefined ? variable : `flag --${flag}`)
  }
  return sources
}

/** What Kubernetes sets in every pod beside a Service whose name begins with "fencegate". */
const SERVICE_LINK =
  /^FENCEGATE_(.+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
const SERVICE_URL = /^(tcp|udp|sctp):\/\//

const PREFIX = 'FENCEGATE_'

/** A misspelt variable would be a setting that silently does not hold. */
export function refuseUnknownVariables(env: Environment, faults: Faults): void {
  const settings = SETTINGS.map(({ variable }) => variable)
  const known = [CONFIG_VARIABLE, ...settings, SERVER_VARIABLE, TOKEN_FILE_VARIABLE]
  for (const [name, value = ''] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || known.includes(name) || SERVICE_LINK.test(name)) continue
    if (/_PORT$/.test(name) && SERVICE_URL.test(value)) continue
    const suffixes = known.map((variable) => variable.slice(PREFIX.length))
    const meant = nearest(name.slice(PREFIX.length), suffixes)
    const hint = meant === undefined ? '' : ` Did you mean ${PREFIX}${meant}?`
    faults.add(name, `is not a variable of fencegate.${hint} Variables: ${known.join(', ')}`)
  }
}
