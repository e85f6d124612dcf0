/** `fencegate completion`: a script that completes commands, options, their words and files, made from the program itself. */
import { Argument, type Command } from 'commander'
import { EXIT } from '../errors.ts'
import { bashScript } from './completion/bash.ts'
import { fishScript } from './completion/fish.ts'
import { treeOf } from './completion/tree.ts'
import { zshScript } from './completion/zsh.ts'
import { print } from './output.ts'
import type { Ends } from './program.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

const EXAMPLES = `
Load it in each new shell, in ~/.bashrc, in ~/.zshrc behind "compinit", or in ~/.config/fish/config.fish. Names of tasks
are not completed: the sidecar would have to be asked for each key.

Exit codes: 0 done, 64 bad usage.

Examples:
  source <(fencegate completion bash)
  source <(fencegate completion zsh)
  fencegate completion fish | source`

export function addCompletion(program: Command, ends: Ends): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .description('Print a script that completes commands and options in a shell.')
    .addHelpText('after', EXAMPLES)
    .action(async (shell: keyof typeof SCRIPTS) => {
      await print(SCRIPTS[shell](treeOf(program)))
      ends(EXIT.ok)
    })
}
