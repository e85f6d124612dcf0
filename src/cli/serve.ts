/** `fencegate serve`: the sidecar, until a signal stops it. */
import type { Command } from 'commander'
import { addConfigOptions, type ConfigOptions, sourcesOf } from './config-options.ts'
import type { Ends } from './program.ts'

const EXAMPLES = `
Flags beat environment variables beat the file.

Exit codes: 0 stopped in an orderly way, 64 bad usage or configuration, 69 store or port unavailable, 70 a fault of
fencegate itself.

Examples:
  fencegate serve --upstream http://127.0.0.1:9200
  fencegate serve --config fencegate.yaml --listen 0.0.0.0:8470
  FENCEGATE_UPSTREAM=http://127.0.0.1:9200 fencegate serve`

export function addServe(program: Command, ends: Ends): void {
  addConfigOptions(program.command('serve'))
    .description('Run the sidecar. SIGTERM stops it: open writes end first.')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ConfigOptions) => {
      // First of all: without a listener this signal ends the process.
      let reloadAsked = false
      process.on('SIGHUP', () => {
        reloadAsked = true
      })
      const { loadConfig } = await import('../config/load.ts')
      const sources = sourcesOf(options)
      const loaded = loadConfig(sources)
      const { runSidecar } = await import('../sidecar.ts')
      ends(
        await runSidecar(
          loaded,
          () => loadConfig(sources),
          () => reloadAsked,
        ),
      )
    })
}
