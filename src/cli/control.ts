/** The options of commands that act on a running sidecar or ask it one thing. */
import type { Command } from 'commander'
import { addSidecarOptions, type SidecarOptions } from './endpoint.ts'
import { print } from './output.ts'

export const JSON_OPTION = ['--json', 'print the answer as JSON'] as const

export interface ControlOptions extends SidecarOptions {
  readonly json?: true
}

export interface ActOptions extends ControlOptions {
  readonly by?: string
  readonly reason: string
}

export function addControlOptions(command: Command): Command {
  return addSidecarOptions(command).option(...JSON_OPTION)
}

/** Every act says who did it, and why. */
export function addActOptions(command: Command): Command {
  return addControlOptions(command)
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--by <name>', "who, for the record (default: the user's name; at --server the token's)")
}

/** Where a task is, in the API. */
export function taskPath(task: string, act = ''): string {
  return `/v1/tasks/${encodeURIComponent(task)}${act && `/${act}`}`
}

/** Writes JSON for a program, or lines for a person. */
export async function show(
  json: true | undefined,
  answer: unknown,
  lines: () => readonly string[],
): Promise<void> {
  await print(json ? `${JSON.stringify(answer)}\n` : `${lines().join('\n')}\n`)
}

/** A client's words for a terminal: without control characters, which could move its cursor or worse. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, '?')
}
