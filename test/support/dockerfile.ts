/** Reads as much of Dockerfiles and .dockerignore files as this repository's ones use; the rest is an error. */

export interface Instruction {
  readonly name: string
  /** `--name=value` before the arguments. */
  readonly flags: Readonly<Record<string, string>>
  /** As written, continuation lines joined. */
  readonly text: string
  /** The elements of the exec form; undefined for any other form. */
  readonly exec: readonly string[] | undefined
}

export interface Stage {
  readonly image: string
  /** After `AS`. */
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

/** The stages in order. Throws on an instruction before the first `FROM`. */
export function parseDockerfile(text: string): Stage[] {
  const stages: { image: string; name: string | undefined; instructions: Instruction[] }[] = []
  for (const line of logicalLines(text)) {
    const instruction = parseInstruction(line)
    if (instruction.name === 'FROM') {
      const [, image, , name] = /^(\S+)(\s+AS\s+(\S+))?$/i.exec(instruction.text) ?? []
      if (image === undefined) throw new Error(`not a base image: ${line}`)
      stages.push({ image, name, instructions: [] })
      continue
    }
    const stage = stages.at(-1)
    if (!stage) throw new Error(`before the first FROM: ${line}`)
    stage.instructions.push(instruction)
  }
  return stages
}

/** Comments and empty lines go, also between the parts of a continued line. */
function logicalLines(text: string): string[] {
  const lines: string[] = []
  let continued = ''
  for (const line of text.split('\n')) {
    if (/^\s*(#|$)/.test(line)) continue
    const part = /^(.*?)\s*(\\)?$/.exec(line) as RegExpExecArray
    continued += `${continued === '' ? '' : ' '}${(part[1] as string).trim()}`
    if (part[2]) continue
    lines.push(continued)
    continued = ''
  }
  if (continued !== '') throw new Error(`the last line is continued: ${continued}`)
  return lines
}

function parseInstruction(line: string): Instruction {
  const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
  if (name === undefined || rest === undefined) throw new Error(`not an instruction: ${line}`)
  const flags: Record<string, string> = {}
  const text = rest.replace(/^(--([a-z-]+)=(\S+)\s+)+/, (all) => {
    for (const [, flag, value] of all.matchAll(/--([a-z-]+)=(\S+)/g)) flags[flag as string] = value as string
    return ''
  })
  return { name, flags, text, exec: execForm(text.replace(/^CMD\s+/, '')) }
}

function execForm(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list) || !list.every((part) => typeof part === 'string')) {
    throw new Error(`not an exec form: ${text}`)
  }
  return list
}

/** The variables of the `ENV NAME=value …` instructions. */
export function environmentOf({ instructions }: Stage): Record<string, string> {
  const env: Record<string, string> = {}
  for (const { text } of instructions.filter(({ name }) => name === 'ENV')) {
    for (const pair of text.split(/\s+/)) {
      const [, name, value] = /^(\w+)=([^"'$]*)$/.exec(pair) ?? []
      if (name === undefined) throw new Error(`not NAME=value: ${pair}`)
      env[name] = value as string
    }
  }
  return env
}

/** Whether the build can see `file`: the last line that matches it, or a folder above it, decides. */
export function inContext(dockerignore: string, file: string): boolean {
  let seen = true
  for (const line of dockerignore.split('\n')) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, not, pattern = ''] = /^(!?)(.*?)\/?\s*$/.exec(line) ?? []
    if (/[?[\\]|\*\*/.test(pattern)) throw new Error(`not a pattern that is understood here: ${line}`)
    const source = pattern.replace(/[.+^$(){}|]/g, '\\$&').replaceAll('*', '[^/]*')
    if (new RegExp(`^${source}(/|$)`).test(file)) seen = not === '!'
  }
  return seen
}
