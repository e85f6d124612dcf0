/**
 * Runs the shell snippets of a page as its reader would: in order, in a directory of their own, against a real sidecar with
 * the page's configuration before a resource that answers 200 to everything.
 *
 * What only the reader's machine has is put in place of what the page names: free ports for 8470, 8471 and the resource's, a
 * data directory for /var/lib/fencegate. A `curl` line ends in a comment that begins with its status, or gets a 2xx.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import type { Fence, Page } from './markdown.ts'
import { ROOT } from './sources.ts'
import { until, within } from './wait.ts'

const TLS = path.join(import.meta.dirname, 'tls')
const SNIPPET_MS = 60_000
/** What pages call the files that a configuration names, and what stands in for them. */
const SECRETS = {
  credential: 'Bearer x\n',
  'operations.key': `${'k'.repeat(43)}=\n`,
  'admin.tokens': `ana ${'t'.repeat(32)}\n`,
}

/** A `sh` fence is run unless it says that it isn't. */
export function isRun({ language, words }: Fence): boolean {
  return language === 'sh' && !words.includes('norun')
}

/** A `yaml` fence that begins with its name is the page's configuration. */
export function configurationOf({ fences }: Page): string | undefined {
  return fences.find(({ language, text }) => language === 'yaml' && text.startsWith('# fencegate.yaml\n'))
    ?.text
}

/** A directory with the files that a page's configuration may name. */
export function directoryWithFiles(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-page-'))
  for (const [name, text] of Object.entries(SECRETS)) fs.writeFileSync(path.join(directory, name), text)
  const copy = (from: string, to: string) => fs.copyFileSync(path.join(TLS, from), path.join(directory, to))
  copy('server-1.pem', 'server.pem')
  copy('server-1-key.pem', 'server-key.pem')
  copy('server-ca.pem', 'resource-ca.pem')
  copy('server-ca.pem', 'clients-ca.pem')
  return directory
}

interface Ports {
  readonly data: number
  readonly admin: number
  readonly resource: number
}

interface Ended {
  readonly stdout: string
  readonly output: string
  readonly code: number | null
}

export class PageRun {
  readonly #ports: Ports
  readonly #directory = directoryWithFiles()
  readonly #children: ChildProcess[] = []

  private constructor(ports: Ports) {
    this.#ports = ports
  }

  /** Runs a page, and gives what went otherwise than it says. */
  static async of(page: Page): Promise<string[]> {
    const resource = http.createServer((request, response) => {
      request.resume()
      request.once('end', () =>
        response.setHeader('content-type', 'application/json').end('{"stored":true}\n'),
      )
    })
    const run = new PageRun({
      data: await freePort(),
      admin: await freePort(),
      resource: await listen(resource),
    })
    try {
      return await run.#all(page)
    } finally {
      await run.#close()
      resource.closeAllConnections()
      resource.close()
    }
  }

  async #all(page: Page): Promise<string[]> {
    const file = path.join(this.#directory, 'fencegate.yaml')
    const configuration = configurationOf(page) ?? 'upstream: { url: "http://127.0.0.1:9200" }\n'
    fs.writeFileSync(file, this.#here(configuration))
    this.#command('fencegate', `exec "${process.execPath}" "${path.join(ROOT, 'src/main.ts')}" "$@"`)
    if (!page.fences.some(({ words }) => words.includes('background'))) {
      await this.#bash(`fencegate init --data /var/lib/fencegate`)
      await this.#start('fencegate serve --config fencegate.yaml')
    }
    const faults: string[] = []
    for (const [index, fence] of page.fences.entries()) {
      if (!isRun(fence)) continue
      if (fence.words.includes('background')) await this.#start(fence.text)
      else
        faults.push(
          ...(await this.#snippet(fence, page.fences[index + 1])).map(
            (each) => `line ${fence.line}: ${each}`,
          ),
        )
    }
    return faults
  }

  async #snippet({ text }: Fence, next: Fence | undefined): Promise<string[]> {
    const statuses = path.join(this.#directory, 'statuses')
    fs.writeFileSync(statuses, '')
    const { stdout, output, code } = await this.#bash(text)
    if (code !== 0) return [`ended with ${code}: ${output}`]
    const faults = statusFaults(text, fs.readFileSync(statuses, 'utf8').split('\n').filter(Boolean))
    if (next?.words.includes('output') && !matches(stdout, this.#here(next.text))) {
      faults.push(`printed\n${stdout}instead of\n${next.text}`)
    }
    return faults.length === 0 ? [] : [...faults, output]
  }

  /** Text of the page with what this machine has in place of what it names. */
  #here(text: string): string {
    const { data, admin, resource } = this.#ports
    return text
      .replaceAll('/var/lib/fencegate', path.join(this.#directory, 'data'))
      .replace(/\b(localhost|127\.0\.0\.1):8470\b/g, `127.0.0.1:${data}`)
      .replace(/\b(localhost|127\.0\.0\.1):8471\b/g, `127.0.0.1:${admin}`)
      .replace(/(\burl: "?)https?:\/\/[^\s"},]+/g, `$1http://127.0.0.1:${resource}`)
      .replace(/\b(localhost|127\.0\.0\.1):9200\b/g, `127.0.0.1:${resource}`)
  }

  #command(name: string, script: string): void {
    const file = path.join(this.#directory, 'bin', name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }

  /** Starts what goes on, and waits until the sidecar serves. */
  async #start(text: string): Promise<void> {
    const ended = this.#spawn(text)
    const { admin } = this.#ports
    const ready = until(
      () =>
        fetch(`http://127.0.0.1:${admin}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      `/readyz after ${text}`,
      SNIPPET_MS,
    )
    await Promise.race([
      ready,
      ended.then(({ output }) => {
        throw new Error(`"${text.trim()}" ended: ${output}`)
      }),
    ])
  }

  #bash(text: string): Promise<Ended> {
    return within(this.#spawn(text), `the end of: ${text}`, SNIPPET_MS)
  }

  #spawn(text: string): Promise<Ended> {
    const prelude = `curl() { command curl -sS -w '%{stderr}%{http_code}\\n' "$@" 2>>statuses; }\n`
    const child = spawn('bash', ['-eu', '-o', 'pipefail', '-c', prelude + this.#here(text)], {
      cwd: this.#directory,
      // A group of its own, so that what it leaves behind ends with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${path.join(this.#directory, 'bin')}:${process.env.PATH}`,
        FENCEGATE_DATA: path.join(this.#directory, 'data'),
        NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/node-compile'),
        // The environment beats the file, which may leave them to their defaults.
        FENCEGATE_LISTEN: `127.0.0.1:${this.#ports.data}`,
        FENCEGATE_ADMIN: `127.0.0.1:${this.#ports.admin}`,
      },
    })
    this.#children.push(child)
    let stdout = ''
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      stdout += part
      output += part
    })
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      output += part
    })
    return new Promise((resolve) => child.once('close', (code) => resolve({ stdout, output, code })))
  }

  async #close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const closed = new Promise((resolve) => child.once('close', resolve))
      process.kill(-(child.pid as number), 'SIGKILL')
      await closed
    }
    fs.rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Of each `curl` in the order of the text, the status that its comment tells, or any 2xx. */
function statusFaults(text: string, statuses: readonly string[]): string[] {
  const lines = text.replaceAll('\\\n', ' ').split('\n')
  const expected = lines
    .filter((line) => /^\s*curl\b/.test(line))
    .map((line) => /\s#\s*(\d{3})\b/.exec(line)?.[1] ?? '2..')
  const wrong = expected.flatMap((status, i) =>
    new RegExp(`^${status}$`).test(statuses[i] ?? '')
      ? []
      : [`curl ${i + 1} got ${statuses[i]}, not ${status}`],
  )
  return statuses.length > expected.length ? [...wrong, `${statuses.length} requests were made`] : wrong
}

/** "..." stands for anything. */
function matches(printed: string, shown: string): boolean {
  const parts = shown
    .trim()
    .split('...')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`).test(printed.trim())
}

async function listen(server: net.Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Free for now: the page names one and the same port in its configuration and its requests. */
async function freePort(): Promise<number> {
  const server = net.createServer()
  const port = await listen(server)
  server.close()
  await once(server, 'close')
  return port
}
