/** The options by which a command is told its configuration. */
import type { Command } from 'commander'
import type { ConfigSources } from '../config/load.ts'
import type { Flags } from '../config/sources.ts'

export interface ConfigOptions extends Flags {
  readonly config?: string
}

export const CONFIG_OPTION = ['--config <file>', 'configuration file (FENCEGATE_CONFIG)'] as const
export const DATA_OPTION = ['--data <dir>', 'data directory, which holds the marks (FENCEGATE_DATA)'] as const

/** Adds the options that say with what to serve. */
export function addConfigOptions(command: Command): Command {
  return command
    .option(...CONFIG_OPTION)
    .option('--upstream <url>', 'the resource, such as http://127.0.0.1:9200 (FENCEGATE_UPSTREAM)')
    .option('--listen <host:port>', 'data port (FENCEGATE_LISTEN)')
    .option('--admin <host:port>', 'health and metrics port (FENCEGATE_ADMIN)')
    .option(...DATA_OPTION)
}

export function sourcesOf({ config, ...flags }: ConfigOptions): ConfigSources {
  return { file: config, env: process.env, flags }
}
