/** Completion for fish: one line an option. */
import type { CommandTree, OptionWords, Value } from './tree.ts'

export function fishScript({ options, commands }: CommandTree): string {
  const first = 'test (count (commandline -opc)) -eq 1'
  const lines = [
    ...options.map((option) => optionLine(first, option)),
    ...commands.map(({ name, description }) => `${line(first)} -a ${name} -d ${quoted(description)}`),
    ...commands.flatMap(({ name, options, args }) => [
      ...options.map((option) => optionLine(`__fencegate_runs ${name}`, option)),
      ...args.flatMap((value) => argumentLine(`__fencegate_runs ${name}`, value)),
    ]),
  ]
  return `# Completion of fencegate for fish. Load it with: fencegate completion fish | source
function __fencegate_runs
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end
complete -c fencegate -e
complete -c fencegate -f
${lines.join('\n')}
`
}

function line(condition: string): string {
  return `complete -c fencegate -n ${quoted(condition)}`
}

function optionLine(condition: string, { flags, description, value }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  return [line(condition), ...names, ...(value ? [valueWords(value)] : []), `-d ${quoted(description)}`].join(
    ' ',
  )
}

function argumentLine(condition: string, value: Value): string[] {
  if (value.kind === 'text') return []
  return [`${line(condition)} ${value.kind === 'file' ? '-F' : valueWords(value).replace('-x', '-f')}`]
}

function valueWords(value: Value): string {
  if (value.kind === 'file') return '-r -F'
  if (value.kind === 'directory') return "-x -a '(__fish_complete_directories)'"
  return value.kind === 'choices' ? `-x -a ${quoted(value.choices.join(' '))}` : '-x'
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
