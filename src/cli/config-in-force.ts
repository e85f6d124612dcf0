/** `fencegate config`: the configuration that the running sidecar works with, which its file may not be any more. */
import type { Command } from 'commander'
import { EXIT } from '../errors.ts'
import type { ConfigAnswer } from './api.ts'
import { ask } from './ask.ts'
import { addControlOptions, type ControlOptions, plain, show } from './control.ts'
import { time } from './listing.ts'
import type { Ends } from './program.ts'

const EXAMPLES = `
Secrets are shown as "(set)". What came of the last reload stands in the first lines.

Exit codes: 0 done, 64 bad usage or refused, 69 the sidecar can't be asked.

Examples:
  fencegate config
  fencegate config --json --server http://127.0.0.1:8471`

export function addConfig(program: Command, ends: Ends): void {
  addControlOptions(program.command('config'))
    .description('Show the configuration in force, its warnings and the last reload.')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ControlOptions) => {
      const answer = await ask<ConfigAnswer>(options, '/v1/config')
      const { stringify } = await import('yaml')
      await show(options.json, answer, () => [...headOf(answer), stringify(answer.config).trimEnd()])
      ends(EXIT.ok)
    })
}

function headOf({ file, warnings, lastReload: reload }: ConfigAnswer): string[] {
  const message = reload?.message === undefined ? '' : `: ${reload.message}`
  return [
    `file: ${file ?? 'none'}`,
    ...(reload ? [`last reload: ${time(reload.atMs)}, ${reload.cause}, ${reload.result}${message}`] : []),
    ...warnings.map((warning) => `warning: ${warning}`),
  ].map((line) => `# ${plain(line)}`)
}
