/**
 * Assembles the image's files as the Dockerfile says, from a real build, and runs what is in them. It stands
 * in for an engine: a COPY of what isn't there, a file that .dockerignore hides or a wrong entry point fails.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { environmentOf, inContext, parseDockerfile, type Stage } from '../support/dockerfile.ts'
import { ROOT } from '../support/sources.ts'

const read = (name: string) => fs.readFileSync(path.join(ROOT, name), 'utf8')
const stages = parseDockerfile(read('Dockerfile'))
const final = stages.at(-1) as Stage
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-image-'))
/** Each stage's root directory here, by the stage's name; the image itself has none. */
const roots = new Map<string | undefined, string>()

beforeAll(() => {
  for (const stage of stages) assemble(stage)
})

afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

function assemble({ name, instructions }: Stage): void {
  const root = path.join(directory, name ?? 'image')
  roots.set(name, root)
  let workdir = '/'
  for (const { name: instruction, text, flags } of instructions) {
    if (instruction === 'WORKDIR') {
      workdir = path.posix.resolve(workdir, text)
      fs.mkdirSync(path.join(root, workdir), { recursive: true })
    }
    if (instruction === 'COPY') copy(flags.from, text.split(/\s+/), path.join(root, workdir))
    if (instruction === 'RUN') run(text, root, workdir)
  }
}

function copy(stage: string | undefined, paths: readonly string[], workdir: string): void {
  const from = stage === undefined ? ROOT : (roots.get(stage) as string)
  const to = path.join(workdir, paths.at(-1) as string)
  for (const source of paths.slice(0, -1)) {
    const target = paths.at(-1)?.endsWith('/') ? path.join(to, path.basename(source)) : to
    const filter = (file: string) => stage !== undefined || visible(path.relative(ROOT, file))
    fs.cpSync(path.join(from, source), target, { recursive: true, filter })
    if (!fs.existsSync(target)) throw new Error(`COPY ${source}: .dockerignore hides it`)
  }
}

const visible = (file: string) => inContext(read('.dockerignore'), file)

/** Makes a file executable, and a link to it. Here the link leads into the directory of the stage. */
const LINK = /^chmod 0755 (\S+) && ln -s (\/\S+) (\/\S+)$/

/** The commands that the Dockerfile has; packages are the ones installed here. */
function run(command: string, root: string, workdir: string): void {
  const cwd = path.join(root, workdir)
  if (/^npm ci /.test(command)) {
    for (const file of ['package.json', 'package-lock.json']) fs.accessSync(path.join(cwd, file))
    fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(cwd, 'node_modules'))
  } else if (command === 'npm run build') {
    execFileSync('npm', ['run', 'build'], { cwd })
  } else if (/^install -d .* \/[\w/]+$/.test(command)) {
    fs.mkdirSync(path.join(root, command.split(' ').at(-1) as string), { recursive: true })
  } else if (LINK.test(command)) {
    const [, program = '', target, link = ''] = LINK.exec(command) ?? []
    fs.chmodSync(path.join(cwd, program), 0o755)
    fs.mkdirSync(path.dirname(path.join(root, link)), { recursive: true })
    fs.symlinkSync(path.join(root, target as string), path.join(root, link))
  } else {
    throw new Error(`RUN ${command}: this test doesn't know what that does`)
  }
}

/** Where a path of the image is here. */
const inImage = (file: string) => path.join(roots.get(undefined) as string, file)

/** Runs the image's entry point with its environment. */
function fencegate(...args: string[]): string {
  const [program, main, ...more] = final.instructions.find(({ name }) => name === 'ENTRYPOINT')?.exec ?? []
  expect(program).toBe('node')
  return execFileSync(process.execPath, [inImage(main as string), ...more, ...args], {
    env: environmentOf(final),
    encoding: 'utf8',
  })
}

it('has the program, its packages and nothing else', () => {
  expect(fs.readdirSync(inImage('/app')).sort()).toEqual(['LICENSE', 'dist', 'node_modules', 'package.json'])
  expect(fs.readdirSync(inImage('/var/lib/fencegate'))).toEqual([])
})

it('runs: the entry point is there and knows its version', () => {
  expect(fencegate('--version').trim()).toBe(JSON.parse(read('package.json')).version)
})

it('has the program on the PATH, as a file that can be run', () => {
  const link = inImage('/usr/local/bin/fencegate')
  expect(fs.realpathSync(link)).toBe(fs.realpathSync(inImage('/app/dist/main.js')))
  const env = { ...environmentOf(final), PATH: path.dirname(process.execPath) }
  expect(execFileSync(link, ['--version'], { env, encoding: 'utf8' })).toBe(fencegate('--version'))
})

it('takes its environment for a configuration without a fault', () => {
  expect(() => fencegate('check-config', '--upstream', 'http://127.0.0.1:9200')).not.toThrow()
})
