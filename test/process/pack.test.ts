/**
 * The package as a user gets it: packed from a copy of the repository by npm itself, unpacked, and run. What
 * is in the tarball is listed here, so that nothing joins or leaves it unseen.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT, sourceFiles } from '../support/sources.ts'
import { within } from '../support/wait.ts'

const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-pack-'))
/** Where the tarball is unpacked. */
const installed = path.join(directory, 'package')
const main = path.join(installed, manifest.bin.fencegate)
const children = new Set<ChildProcess>()

beforeAll(() => {
  const copy = path.join(directory, 'repository')
  for (const { path: file } of sourceFiles()) {
    fs.mkdirSync(path.dirname(path.join(copy, file)), { recursive: true })
    fs.copyFileSync(path.join(ROOT, file), path.join(copy, file))
  }
  linkPackages(copy)
  // What an earlier build left behind must not be in the package.
  fs.mkdirSync(path.join(copy, 'dist'))
  fs.writeFileSync(path.join(copy, 'dist/removed.js'), '')
  execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: copy })
  execFileSync('tar', ['-xzf', `fencegate-${manifest.version}.tgz`], { cwd: directory })
})

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  fs.rmSync(directory, { recursive: true, force: true })
})

function linkPackages(to: string): void {
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(to, 'node_modules'))
}

describe('the package', () => {
  it('holds the build of every source file, the example, the documents and nothing else', () => {
    const built = sourceFiles('src', '.ts').map((file) => file.path.replace(/^src(.*)\.ts$/, 'dist$1.js'))
    const documents = ['ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md']
    const page = sourceFiles('src/admin/dashboard', '').filter(({ path: file }) => !file.endsWith('.json'))
    const served = page.map((file) => file.path.replace(/^src/, 'dist'))
    const guides = sourceFiles('docs').map((file) => file.path)
    const expected = [
      ...built,
      ...served,
      ...documents,
      ...guides,
      'config/fencegate.example.yaml',
      'package.json',
    ]
    const packed = fs.readdirSync(installed, { recursive: true, withFileTypes: true })
    const files = packed.filter((entry) => entry.isFile())
    expect(
      files.map((file) => path.relative(installed, path.join(file.parentPath, file.name))).sort(),
    ).toEqual(expected.sort())
  })
})

describe('the packed program', () => {
  beforeAll(() => linkPackages(installed))

  it('can be a command', () => {
    expect(fs.readFileSync(main, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  })

  it('knows its version', () => {
    expect(run('--version').trim()).toBe(manifest.version)
  })

  it('finds no fault in the packed example configuration', () => {
    expect(() => run('check-config', '--config', 'config/fencegate.example.yaml')).not.toThrow()
  })

  it('serves, with the store in its thread, and ends with 0 at SIGTERM', async () => {
    const resource = http.createServer((req, res) => req.resume().on('end', () => res.writeHead(204).end()))
    await new Promise<void>((resolve) => resource.listen(0, '127.0.0.1', resolve))
    const { port } = resource.address() as AddressInfo
    const { child, data, admin } = await serve(`http://127.0.0.1:${port}`)
    const status = async (url: string, init: RequestInit = {}) => (await fetch(url, init)).status
    expect(await status(`http://${admin}/livez`)).toBe(200)
    expect(await status(`http://${admin}/readyz`)).toBe(200)
    const write = (token: string) => {
      const headers = { 'Fencing-Task': 'nightly', 'Fencing-Token': token }
      return status(`http://${data}/x`, { method: 'PUT', body: '{}', headers })
    }
    expect([await write('9'), await write('8')]).toEqual([204, 412])
    const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
    child.kill('SIGTERM')
    expect(await within(ended, 'the end of the packed sidecar', 20_000)).toBe(0)
    resource.closeAllConnections()
    resource.close()
  })
})

function run(...args: string[]): string {
  return execFileSync(process.execPath, [main, ...args], { cwd: installed, encoding: 'utf8' })
}

/** Starts the packed sidecar; `data` and `admin` are the addresses that it says it listens on. */
async function serve(upstream: string): Promise<{ child: ChildProcess; data: string; admin: string }> {
  const ports = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const args = [main, 'serve', '--upstream', upstream, ...ports, '--data', path.join(directory, 'data')]
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  children.add(child)
  const listening = new Promise<{ data: string; admin: string }>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the packed sidecar ended with ${code}`)))
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { msg, data, admin } = JSON.parse(line)
      if (msg === 'listening') resolve({ data, admin })
    })
  })
  return { child, ...(await within(listening, 'the line "listening"', 20_000)) }
}
