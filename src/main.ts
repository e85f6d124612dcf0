#!/usr/bin/env node
/** The program: argv to command to exit code. Nothing that a command leaves behind keeps the process. */
import { reportFailure, run } from './cli/program.ts'

process.on('uncaughtException', (error) => {
  // A sidecar that serves has a listener of its own, which writes to the log.
  if (process.listenerCount('uncaughtException') === 1) process.exit(reportFailure(error))
})

process.exit(await run(process.argv.slice(2)))
