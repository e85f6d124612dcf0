/** Commands that act on the running sidecar: they speak to its socket in the data directory, never to its store. */
import http from 'node:http'
import os from 'node:os'
import type { Command } from 'commander'
import { loadStoreConfig } from '../config/load.ts'
import { EXIT, ExitError } from '../errors.ts'
import { CONFIG_OPTION, type ConfigOptions, DATA_OPTION, sourcesOf } from './config-options.ts'

/** Far above what the sidecar waits for its store: who doesn't answer by then is stopped or stuck. */
const ANSWER_MS = 30_000

export const JSON_OPTION = ['--json', 'print the answer as JSON'] as const

export interface ControlOptions extends ConfigOptions {
  readonly json?: true
}

export interface ActOptions extends ControlOptions {
  readonly by: string
  readonly reason: string
}

export function addControlOptions(command: Command): Command {
  return command
    .option(...CONFIG_OPTION)
    .option(...DATA_OPTION)
    .option(...JSON_OPTION)
}

/** Every act says who did it, and why. */
export function addActOptions(command: Command): Command {
  return addControlOptions(command)
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--by <name>', 'who, for the record', userName())
}

/** A container's user often has no name. */
function userName(): string {
  try {
    return os.userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}

/** Where the sidecar that the options name listens for commands. */
export function socketOf(options: ConfigOptions): string {
  return loadStoreConfig(sourcesOf(options)).controlSocket
}

/** Asks the sidecar once, as {@link askAt} does. */
export async function ask<T>(
  options: ConfigOptions,
  method: 'GET' | 'POST',
  target: string,
  body?: object,
): Promise<T> {
  return askAt(socketOf(options), method, target, body)
}

/**
 * Asks the sidecar. Throws {@link ExitError}: 69 if it does not run or can't serve now, 64 if it says that
 * what was asked makes no sense.
 */
export async function askAt<T>(
  socketPath: string,
  method: 'GET' | 'POST',
  target: string,
  body?: object,
): Promise<T> {
  const { status, text } = await exchange(socketPath, method, target, body)
  const answer = parsed(text, socketPath)
  if (status < 300) return answer as T
  throw new ExitError(status >= 500 ? EXIT.unavailable : EXIT.usage, answer.error ?? answer.message ?? text)
}

function parsed(text: string, socketPath: string): { error?: string; message?: string } {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ExitError(EXIT.unavailable, `what came from ${socketPath} is no answer of a sidecar`, {
      cause: error,
    })
  }
}

function exchange(socketPath: string, method: string, target: string, body: object | undefined) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      reject(
        new ExitError(
          EXIT.unavailable,
          `no sidecar answers at ${socketPath} (${error.code}). Name the running one's data directory with ` +
            '--data or --config, and run this as its user.',
          { cause: error },
        ),
      )
    }
    const headers = body ? { 'Content-Type': 'application/json' } : {}
    const request = http.request({ socketPath, method, path: target, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk)).on('error', failed)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      )
    })
    const timer = setTimeout(() => {
      const late = `the sidecar at ${socketPath} has not answered for ${ANSWER_MS / 1000} s`
      reject(new ExitError(EXIT.unavailable, `${late}: whether it did as asked is unknown. Ask again.`))
      request.destroy()
    }, ANSWER_MS)
    request.on('error', failed).on('close', () => clearTimeout(timer))
    request.end(body && JSON.stringify(body))
  })
}

/** A client's words for a terminal: without control characters, which could move its cursor or worse. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, '?')
}
