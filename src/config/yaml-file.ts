/** The configuration file as a tree of plain values. Integers that mean tokens stay exact, as text. */
import path from 'node:path'
import { LineCounter, parseDocument, type YAMLError } from 'yaml'
import type { Faults } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import { TOKEN_KEYS } from './schema.ts'

/** Returns the file's tree, or `undefined` if it can't be read as one; faults carry line and column. */
export function readYamlFile(file: string, files: ConfigFiles, faults: Faults): unknown {
  const text = faults.read(file, undefined, () => files.read(path.resolve(file), 'a file'))
  if (text === undefined) return undefined
  const lines = new LineCounter()
  const document = parseDocument(text, {
    intAsBigInt: true,
    stringKeys: true,
    prettyErrors: false,
    lineCounter: lines,
  })
  for (const problem of [...document.errors, ...document.warnings]) {
    const { line, col } = lines.linePos(problem.pos[0])
    faults.add(`${file}, line ${line}, column ${col}`, explain(problem, text))
  }
  // With a key given twice the rest is still what the person meant; after any other error it is a guess.
  if (document.errors.some(({ code }) => code !== 'DUPLICATE_KEY')) return undefined
  try {
    return document.toJS({ reviver: exactTokens }) ?? {}
  } catch (error) {
    faults.add(file, `${(error as Error).message}; define the anchor before the alias`)
    return undefined
  }
}

function explain(
  { code, message, pos }: YAMLError | { code: string; message: string; pos: [number, number] },
  text: string,
): string {
  if (code === 'DUPLICATE_KEY') {
    const key = /^[^\s:]*/.exec(text.slice(pos[0], pos[0] + 64))?.[0]
    return `the key ${key} is given twice in one mapping; remove one of them`
  }
  if (code === 'NON_STRING_KEY') return 'the key is not a plain word; write one of the documented keys'
  return `not valid YAML: ${message}`
}

function exactTokens(key: unknown, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  return TOKEN_KEYS.has(String(key)) ? value.toString() : Number(value)
}
