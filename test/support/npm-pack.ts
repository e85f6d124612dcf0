/**
 * Packages of which tests need a file, and that are too large to be dependencies: each of one version, fetched by npm,
 * compared with its hash and unpacked into node_modules/.cache, where the next run finds it.
 *
 * A directory there is whole: it is filled under another name, and renamed.
 */
import { execFileSync } from 'node:child_process'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { ROOT } from './sources.ts'

const CACHE = path.join(ROOT, 'node_modules/.cache/fencegate')

export interface Package {
  readonly name: string
  readonly version: string
  /** Of the tarball, as npm's lock files write it. */
  readonly integrity: string
}

/** The directory of what `unpack` has taken from the package's tarball. */
export function fetched(
  { name, version, integrity }: Package,
  unpack: (tarball: string, to: string) => void = untar,
): string {
  const directory = path.join(CACHE, `${name.replace('/', '+')}-${version}`)
  if (fs.existsSync(directory)) return directory
  fs.mkdirSync(CACHE, { recursive: true })
  const draft = fs.mkdtempSync(path.join(CACHE, 'draft-'))
  try {
    const args = ['pack', `${name}@${version}`, '--json', '--pack-destination', draft]
    const [{ filename }] = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }))
    const tarball = path.join(draft, filename)
    const hash = crypto.createHash('sha512').update(fs.readFileSync(tarball)).digest('base64')
    if (integrity !== `sha512-${hash}`) {
      throw new Error(`${name} ${version} has the hash sha512-${hash}, and not the one that is expected`)
    }
    const content = path.join(draft, 'content')
    fs.mkdirSync(content)
    unpack(tarball, content)
    fs.renameSync(content, directory)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
  return directory
}

export function untar(tarball: string, to: string): void {
  execFileSync('tar', ['-xzf', tarball, '-C', to, '--strip-components=1'])
}
