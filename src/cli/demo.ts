/** `fencegate demo`: the incident, replayed with real processes. */
import type { Command } from 'commander'
import type { Ends } from './program.ts'

const EXAMPLES = `
A worker is paused past the end of its lease, another takes over, the first one resumes and writes: once
without the sidecar, once with it. Needs nothing else.

Exit codes: 0 as promised, 1 a stale write got through or it could not be played to its end, 64 bad usage, 130 SIGINT,
143 SIGTERM.

Examples:
  fencegate demo
  fencegate demo --json`

export function addDemo(program: Command, ends: Ends): void {
  program
    .command('demo')
    .description('Replay a stale write, without the sidecar and with it.')
    .option('--json', 'print events and verdicts as JSON', false)
    .addHelpText('after', EXAMPLES)
    .action(async ({ json }: { json: boolean }) => {
      const { runDemo } = await import('../demo/demo.ts')
      ends(await runDemo({ json }))
    })
}
