/**
 * The command line: which commands there are, and what becomes of their ends and failures.
 *
 * What a command runs is imported when it runs, so that help and usage errors come at once.
 */
import { Command, CommanderError } from 'commander'
import { EXIT, ExitError } from '../errors.ts'
import { version } from '../version.ts'
import { addActs } from './acts.ts'
import { addBackup } from './backup.ts'
import { addCheckConfig } from './check-config.ts'
import { addCompletion } from './completion.ts'
import { addConfig } from './config-in-force.ts'
import { addDemo } from './demo.ts'
import { addErase } from './erase.ts'
import { addFence } from './fence.ts'
import { addInit } from './init.ts'
import { addJournal } from './journal.ts'
import { addOperations } from './operations.ts'
import { addReconcile } from './reconcile.ts'
import { addReset } from './reset.ts'
import { addRestore } from './restore.ts'
import { addRetire } from './retire.ts'
import { addServe } from './serve.ts'
import { addStatus } from './status.ts'
import { addStore } from './store-state.ts'
import { addTask } from './task.ts'
import { addTasks } from './tasks.ts'
import { addTop } from './top.ts'
import { addUnknown } from './unknown.ts'

/** How a command ends. */
export type Ends = (exitCode: number) => void

/** In the order of the help. */
const COMMANDS: readonly ((program: Command, ends: Ends) => void)[] = [
  ...[addServe, addInit, addCheckConfig, addDemo],
  ...[addStatus, addTasks, addTask, addTop],
  ...[addFence, addActs, addUnknown],
  ...[addJournal, addOperations, addReconcile, addErase],
  ...[addConfig, addStore, addBackup, addRestore, addRetire, addReset],
  addCompletion,
]

const EXAMPLES = `
Examples:
  fencegate serve --upstream http://127.0.0.1:9200
  fencegate check-config --config fencegate.yaml
  fencegate init --data /var/lib/fencegate --floor 41000
  fencegate demo
  fencegate status
  fencegate top
  fencegate fence settlement-42 --reason "two exports, see INC-7"

Commands that ask a running sidecar find it by its data directory, over a socket that only its user can open, or with
--server at its admin port. docs/commands.md has each of them with its output.

Exit codes: 0 ended as asked, 64 bad usage or configuration, 69 store or port unavailable, 70 a fault of
fencegate itself.`

/** Runs the command in `args` and returns its exit code; failures are reported on stderr. */
export async function run(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok
  const program = makeProgram((code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has written its message, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    return reportFailure(error)
  }
}

/** A message for what the person at the terminal can mend, the stack for what only we can. */
export function reportFailure(error: unknown): number {
  if (error instanceof ExitError) {
    process.stderr.write(`fencegate: ${error.message}\n`)
    return error.exitCode
  }
  process.stderr.write(
    `fencegate: unexpected error\n${error instanceof Error ? error.stack : String(error)}\n`,
  )
  return EXIT.invariant
}

/** The whole tree of commands; `ends` is told how the one that runs ends. */
export function makeProgram(ends: Ends): Command {
  const program = new Command('fencegate')
    .description('A sidecar that forwards a write with a current fencing token, and rejects a stale one.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('Run it with --help for usage and examples.')
    .addHelpText('after', EXAMPLES)
  for (const add of COMMANDS) add(program, ends)
  return program
}
