/** Completion for zsh, by its own `_arguments`. */
import type { CommandTree, CommandWords, OptionWords, Value } from './tree.ts'

export function zshScript({ options, commands }: CommandTree): string {
  return `#compdef fencegate
# Completion of fencegate for zsh. Load it with: source <(fencegate completion zsh)
_fencegate() {
  local state line
  typeset -A opt_args
  _arguments -C \\
    ${[...options.map(optionSpec), quoted('1:command:->command'), quoted('*::argument:->arguments')].join(' \\\n    ')}
  case $state in
    command)
      local -a commands=(
${commands.map(({ name, description }) => `        ${quoted(`${name}:${description}`)}`).join('\n')}
      )
      _describe command commands
      ;;
    arguments)
      case $line[1] in
${commands.map(commandCase).join('\n')}
      esac
      ;;
  esac
}
# Loaded from a directory of $fpath, this is the function's own first call.
if [[ $funcstack[1] == _fencegate ]]; then
  _fencegate "$@"
else
  compdef _fencegate fencegate
fi
`
}

function commandCase({ name, options, args }: CommandWords): string {
  const specs = [
    ...options.map(optionSpec),
    ...args.map((value, i) => quoted(`${i + 1}:${escaped(value.name)}:${actionOf(value)}`)),
  ]
  return `        ${name})\n          _arguments \\\n            ${specs.join(' \\\n            ')}\n          ;;`
}

function optionSpec({ flags, description, value }: OptionWords): string {
  const rest = `[${escaped(description)}]${value ? `:${escaped(value.name)}:${actionOf(value)}` : ''}`
  const [flag = ''] = flags
  if (flags.length === 1) return quoted(`${repeats(description) ? '*' : ''}${flag}${rest}`)
  return `${quoted(`(${flags.join(' ')})`)}{${flags.join(',')}}${quoted(rest)}`
}

function repeats(description: string): boolean {
  return description.includes('can be repeated')
}

function actionOf(value: Value): string {
  if (value.kind === 'choices') return `(${value.choices.join(' ')})`
  return { file: '_files', directory: '_files -/', text: ' ' }[value.kind]
}

function escaped(text: string): string {
  return text.replace(/[[\]:\\]/g, '\\$&')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
