/** The commands with their options and arguments, as far as a shell completes them: read from the program itself. */
import type { Argument, Command, Option } from 'commander'

/** What stands in a place: one of some words, the name of a file or directory, or a text that only the user knows. */
export type Value =
  | { readonly kind: 'choices'; readonly name: string; readonly choices: readonly string[] }
  | { readonly kind: 'file' | 'directory' | 'text'; readonly name: string }

export interface OptionWords {
  /** The long one last. */
  readonly flags: readonly string[]
  readonly description: string
  /** Undefined: it takes none. */
  readonly value: Value | undefined
}

export interface CommandWords {
  readonly name: string
  readonly description: string
  readonly options: readonly OptionWords[]
  readonly args: readonly Value[]
}

export interface CommandTree {
  readonly options: readonly OptionWords[]
  readonly commands: readonly CommandWords[]
}

export function treeOf(program: Command): CommandTree {
  const help = program.createHelp()
  const visible = help.visibleCommands(program)
  const names = visible.map((command) => command.name())
  return {
    options: help.visibleOptions(program).map(optionWords),
    commands: visible.map((command) => ({
      name: command.name(),
      description: command.description(),
      options: help.visibleOptions(command).map(optionWords),
      args: command.registeredArguments.map((arg) => argumentOf(command.name(), arg, names)),
    })),
  }
}

function optionWords({ short, long, flags, description, argChoices }: Option): OptionWords {
  const [, name] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? []
  const value = name === undefined ? undefined : valueNamed(name, argChoices)
  return { flags: [short, long].filter((flag) => flag !== undefined), description, value }
}

function argumentOf(command: string, argument: Argument, commands: readonly string[]): Value {
  return valueNamed(argument.name(), command === 'help' ? commands : argument.argChoices)
}

/** A name says what it is a name of: those of files are `file`, those of directories `dir`. */
function valueNamed(name: string, choices: readonly string[] | undefined): Value {
  if (choices) return { kind: 'choices', name, choices }
  return { kind: name === 'file' ? 'file' : name === 'dir' ? 'directory' : 'text', name }
}
