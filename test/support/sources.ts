/** The repository's own text files, and what each TypeScript file imports: for tests of the rules they follow. */
import fs from 'node:fs'
import path from 'node:path'

export const ROOT = path.join(import.meta.dirname, '../..')

/** What is made or installed here, and never written by hand. */
const NOT_OURS = new Set(['.git', 'node_modules', 'dist', 'data', 'coverage'])

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly lines: number
}

export interface Import {
  /** As written. */
  readonly specifier: string
  /** The file that it names, from the repository's root; undefined for a package. */
  readonly file: string | undefined
  /** Nothing of it is left at run time. */
  readonly typeOnly: boolean
}

/** Every file under `directory` that was written by hand. */
export function sourceFiles(directory = '.', extension = ''): SourceFile[] {
  const entries = fs.readdirSync(path.join(ROOT, directory), { withFileTypes: true })
  return entries.flatMap((entry) => {
    const name = path.posix.join(directory, entry.name)
    if (NOT_OURS.has(entry.name)) return []
    if (entry.isDirectory()) return sourceFiles(name, extension)
    if (!entry.isFile() || !name.endsWith(extension) || name.endsWith('.tgz')) return []
    const text = fs.readFileSync(path.join(ROOT, name), 'utf8')
    return [{ path: name, text, lines: text.replace(/\n$/, '').split('\n').length }]
  })
}

/** `import … from '…'`, `export … from '…'` and `import '…'`: a clause holds names, braces, commas and stars. */
const STATIC = /^(?:import|export)\s+(?:([\w\s{},*$]*?)\s*from\s*)?'([^']+)'/gm
const DYNAMIC = /\bimport(?:\.meta\.resolve)?\(\s*'([^']+)'/g

export function importsOf({ path: importer, text }: Pick<SourceFile, 'path' | 'text'>): Import[] {
  const found = [...text.matchAll(STATIC)].map(([, clause = '', specifier]) => ({
    specifier: specifier as string,
    typeOnly: isTypeOnly(clause),
  }))
  for (const [, specifier] of text.matchAll(DYNAMIC)) {
    found.push({ specifier: specifier as string, typeOnly: false })
  }
  return found.map((one) => ({ ...one, file: resolve(importer, one.specifier) }))
}

function isTypeOnly(clause: string): boolean {
  if (/^type\s/.test(clause)) return true
  const names = /^\{([^}]*)\}$/.exec(clause.trim())?.[1]
  return names?.split(',').every((name) => /^\s*(type\s|$)/.test(name)) ?? false
}

function resolve(importer: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return path.posix.join(path.posix.dirname(importer), specifier)
}

/** The package that a specifier names: `@scope/name` or `name`; undefined for files and Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
