/** The git command as a user runs it, with nothing of this machine's configuration. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from '../support/sidecar.ts'
import { within } from '../support/wait.ts'

const ENV = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'worker',
  GIT_AUTHOR_EMAIL: 'worker@example.test',
  GIT_COMMITTER_NAME: 'worker',
  GIT_COMMITTER_EMAIL: 'worker@example.test',
}

export interface GitResult {
  readonly code: number | null
  readonly stdout: string
  /** What a user sees. */
  readonly stderr: string
}

/** Runs git to its end, whatever that is. `env` is added to the environment. */
export function tryGit(
  directory: string,
  args: readonly string[],
  { env = {}, input = '' }: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<GitResult> {
  const child = spawn('git', args, { cwd: directory, env: { ...ENV, ...env } })
  child.stdin.on('error', () => {}).end(input)
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<GitResult>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr })),
  )
  return within(ended, `the end of git ${args.join(' ')}`, 30_000).finally(() => child.kill('SIGKILL'))
}

/** Runs git, which must succeed, and returns its output. */
export async function git(directory: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tryGit(directory, args)
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout.trim()
}

/** A claim as git options. */
export function claimed(task: string, token: number): string[] {
  return ['-c', `http.extraHeader=Fencing-Task: ${task}`, '-c', `http.extraHeader=Fencing-Token: ${token}`]
}

/** A worker's own repository, on branch `main`, whose remote `origin` is at `url`. */
export class WorkingCopy {
  readonly directory = temporaryDirectory()

  static async create(url: string): Promise<WorkingCopy> {
    const copy = new WorkingCopy()
    await copy.git('init', '--quiet', '--initial-branch=main', '.')
    await copy.git('remote', 'add', 'origin', url)
    return copy
  }

  git(...args: readonly string[]): Promise<string> {
    return git(this.directory, ...args)
  }

  /** Commits a file of so many random bytes, and returns the commit's id. */
  async commit(bytes = 16): Promise<string> {
    const name = randomBytes(8).toString('hex')
    fs.writeFileSync(path.join(this.directory, name), randomBytes(bytes))
    await this.git('add', name)
    await this.git('commit', '--quiet', '-m', `add ${name}`)
    return this.git('rev-parse', 'HEAD')
  }

  /** Puts so many empty commits on top of `main`, and returns the id of the last one. */
  async grow(commits: number): Promise<string> {
    // Newer than what they stand on: a fetch names the newest commits first.
    const second = Math.floor(Date.now() / 1000) + 60
    const input = Array.from({ length: commits }, (_, i) => {
      const from = i === 0 ? 'from refs/heads/main^0\n' : ''
      return `commit refs/heads/main\ncommitter worker <worker@example.test> ${second + i} +0000\ndata 0\n${from}\n`
    }).join('')
    const { code, stderr } = await tryGit(this.directory, ['fast-import', '--quiet'], { input })
    if (code !== 0) throw new Error(`git fast-import ended with ${code}: ${stderr}`)
    return this.git('rev-parse', 'HEAD')
  }

  /** Pushes `main`, with more options before the command; `trace` adds what goes over the wire to the errors. */
  push(options: readonly string[], { trace = false } = {}): Promise<GitResult> {
    const env = trace ? { GIT_TRACE_CURL: '1', GIT_TRACE_CURL_NO_DATA: '1' } : {}
    return tryGit(this.directory, [...options, 'push', 'origin', 'main'], { env })
  }
}
