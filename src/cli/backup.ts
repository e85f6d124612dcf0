/** `fencegate backup`: has the running sidecar write all that is committed to a new file on its machine. */
import path from 'node:path'
import { type Command, Option } from 'commander'
import { EXIT, ExitError } from '../errors.ts'
import { type Author, tellAt } from './ask.ts'
import { CONFIG_OPTION, DATA_OPTION } from './config-options.ts'
import { JSON_OPTION, plain, show } from './control.ts'
import { socketOf } from './endpoint.ts'
import type { Ends } from './program.ts'
import { size, span } from './words.ts'

interface Answer {
  readonly file: string
  readonly bytes: number
  readonly commitSequence: number
  readonly ms: number
}

const EXAMPLES = `
The sidecar itself writes the file, with its user's rights, while it serves; an existing file is never written over. Only
over the socket: who reaches the admin port may not write files. To bring it back, see "fencegate restore".

Exit codes: 0 done and on the disk, 64 bad usage, or no file to make (it exists, or its place won't do), 69 no sidecar
answers, or its disk took no more.

Examples:
  fencegate backup /backup/fencegate-2026-11-30.db --reason nightly
  fencegate backup ./before-upgrade.db --data /var/lib/fencegate --reason "upgrade to 0.2"`

export function addBackup(program: Command, ends: Ends): void {
  program
    .command('backup <file>')
    .description('Write a copy of the store to a new file, while it serves.')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--by <name>', "who, for the record (default: the user's name)")
    .option(...CONFIG_OPTION)
    .option(...DATA_OPTION)
    .option(...JSON_OPTION)
    .addOption(new Option('--server <url>').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, options: Author & { readonly json?: true }) => {
      if (options.server !== undefined) {
        throw new ExitError(
          EXIT.usage,
          '--server: a backup is asked for over the socket only: run it on its host, with --data or --config',
        )
      }
      const file = path.resolve(name)
      // It lasts as long as the disk needs: the connection ends with the sidecar, if that should end.
      const answer = await tellAt<Answer>(socketOf(options), options, '/v1/backup', { file }, Infinity)
      await show(options.json, answer, () => [
        `Wrote ${plain(answer.file)}: ${size(answer.bytes)} in ${span(answer.ms)}, commit sequence ${answer.commitSequence}.`,
      ])
      ends(EXIT.ok)
    })
}
