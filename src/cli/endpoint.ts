/**
 * Which running sidecar a command speaks to: over the Unix socket in its data directory, or at its admin port with a
 * bearer token. A token comes from a file, never from the command line, where every user of the machine could read it.
 */
import fs from 'node:fs'
import { type Command, Option } from 'commander'
import { Faults } from '../config/faults.ts'
import { loadStoreConfig } from '../config/load.ts'
import { refuseUnknownVariables, SERVER_VARIABLE, TOKEN_FILE_VARIABLE } from '../config/sources.ts'
import { EXIT, ExitError } from '../errors.ts'
import { CONFIG_OPTION, type ConfigOptions, DATA_OPTION, sourcesOf } from './config-options.ts'

export interface SidecarOptions extends ConfigOptions {
  readonly server?: string
  readonly tokenFile?: string
}

export type Endpoint =
  | { readonly kind: 'socket'; readonly name: string }
  | {
      readonly kind: 'server'
      /** The URL as it is shown; it holds no credentials. */
      readonly name: string
      readonly url: URL
      readonly token: string | undefined
    }

/** Adds the options that say which sidecar is meant. */
export function addSidecarOptions(command: Command): Command {
  return command
    .option(...CONFIG_OPTION)
    .option(...DATA_OPTION)
    .addOption(
      new Option('--server <url>', 'admin port, such as http://127.0.0.1:8471 (FENCEGATE_SERVER)').conflicts([
        'config',
        'data',
      ]),
    )
    .option('--token-file <file>', 'file with the bearer token for --server (FENCEGATE_TOKEN_FILE)')
}

/** A flag beats the environment, so that `--data` or `--config` means the socket whatever the environment says. */
export function endpointOf(options: SidecarOptions): Endpoint {
  const local = options.config !== undefined || options.data !== undefined
  const server = options.server ?? (local ? undefined : process.env[SERVER_VARIABLE])
  if (server === undefined) {
    if (options.tokenFile !== undefined) {
      throw new ExitError(EXIT.usage, '--token-file: is for an admin port: name that with --server')
    }
    return socketOf(options)
  }
  expectKnownVariables()
  const source = options.server === undefined ? SERVER_VARIABLE : '--server'
  const url = urlOf(server, source)
  const fromFlag = options.tokenFile !== undefined
  const file = options.tokenFile ?? process.env[TOKEN_FILE_VARIABLE]
  const token =
    file === undefined ? undefined : readToken(file, fromFlag ? '--token-file' : TOKEN_FILE_VARIABLE)
  return { kind: 'server', name: url.href.replace(/\/$/, ''), url, token }
}

/** The socket, whatever the environment says: for what only goes over it. */
export function socketOf(options: ConfigOptions): Endpoint {
  return { kind: 'socket', name: loadStoreConfig(sourcesOf(options)).controlSocket }
}

function expectKnownVariables(): void {
  const faults = new Faults()
  refuseUnknownVariables(process.env, faults)
  const [first] = faults.lines(new Map())
  if (first !== undefined) throw new ExitError(EXIT.usage, first)
}

/** The text is never in a message: somebody may have put a credential into it. */
function urlOf(text: string, source: string): URL {
  const fault = (what: string) =>
    new ExitError(EXIT.usage, `${source}: ${what}: write one such as http://127.0.0.1:8471`)
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw fault('is not an http or https URL')
  if (url.username !== '' || url.password !== '') {
    throw fault('must not hold a credential (the token stands in a file, see --token-file)')
  }
  if (url.search !== '' || url.hash !== '') throw fault('must end with the host, port or path')
  return url
}

/** The token alone, or one `NAME TOKEN` line as in the sidecar's own file. No part of the file is in a message. */
function readToken(file: string, source: string): string {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ExitError(
      EXIT.usage,
      `${source}: can't be read (${code}): name a file that this user may read`,
      {
        cause: error,
      },
    )
  }
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const [, token] = /^(?:[\w.-]{1,64}[ \t]+)?([\x21-\x7e]{20,512})[ \t]*$/.exec(lines[0] ?? '') ?? []
  if (lines.length === 1 && token !== undefined) return token
  const fault =
    lines.length > 1 ? `has ${lines.length} lines` : 'has no token of 20 to 512 visible characters'
  throw new ExitError(
    EXIT.usage,
    `${source}: the file ${fault}: write the token into it, or one line with NAME TOKEN`,
  )
}
