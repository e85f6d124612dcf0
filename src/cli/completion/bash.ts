/** Completion for bash: one function, without the bash-completion package, also for the bash 3.2 of macOS. */
import type { CommandTree, CommandWords, Value } from './tree.ts'

/** In the script, a place is a command with one of its options, or with the number of one of its arguments. */
interface Place {
  readonly name: string
  readonly value: Value
}

export function bashScript(tree: CommandTree): string {
  const { commands } = tree
  const options = commands.flatMap(optionPlaces)
  const args = commands.flatMap(({ name, args }) =>
    args.map((value, i): Place => ({ name: `${name} ${i}`, value })),
  )
  const names = commands.map(({ name }) => name).join(' ')
  const flags = [{ name: '', ...tree }, ...commands].map(
    ({ name, options }) => `      '${name}') words='${options.flatMap(({ flags }) => flags).join(' ')}' ;;`,
  )
  return `# Completion of fencegate for bash. Load it with: source <(fencegate completion bash)
_fencegate() {
  local cur=\${COMP_WORDS[COMP_CWORD]} command= option= kind=words words= word i
  local -i place=0
  # "--format=csv" comes as three words.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      continue
    elif [[ -n $option ]]; then
      option=
    elif [[ $word == -* ]]; then
      case "$command $word" in
        ${options.map(({ name }) => `'${name}'`).join(' | \\\n        ')}) option=$word ;;
      esac
    elif [[ -z $command ]]; then
      command=$word
    else
      place+=1
    fi
  done
  [[ $cur == = ]] && cur=
  if [[ -n $option ]]; then
    case "$command $option" in
${options.flatMap(answer).join('\n')}
    esac
  elif [[ $cur == -* ]]; then
    case "$command" in
${flags.join('\n')}
    esac
  elif [[ -z $command ]]; then
    words='${names}'
  else
    case "$command $place" in
${args.flatMap(answer).join('\n')}
    esac
  fi
  COMPREPLY=()
  [[ $kind == words ]] || compopt -o filenames 2>/dev/null
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(
    case $kind in
      file) compgen -f -- "$cur" ;;
      directory) compgen -d -- "$cur" ;;
      *) compgen -W "$words" -- "$cur" ;;
    esac
  )
}
complete -F _fencegate fencegate
`
}

function optionPlaces({ name, options }: CommandWords): Place[] {
  return options.flatMap(({ flags, value }) =>
    value ? flags.map((flag) => ({ name: `${name} ${flag}`, value })) : [],
  )
}

function answer({ name, value }: Place): string[] {
  if (value.kind === 'text') return []
  const set = value.kind === 'choices' ? `words='${value.choices.join(' ')}'` : `kind=${value.kind}`
  return [`      '${name}') ${set} ;;`]
}
