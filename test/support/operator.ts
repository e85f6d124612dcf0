/** Operators as they are: the real commands against a running sidecar, and what its store says once it is down. */
import { spawn } from 'node:child_process'
import http from 'node:http'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Sidecar } from './sidecar.ts'
import { within } from './wait.ts'

const ROOT = path.join(import.meta.dirname, '../..')
const MAIN = path.join(ROOT, 'src/main.ts')
const ENV = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/node-compile'),
}

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** An unknown write as `unknown --json` lists it. */
export interface ListedWrite {
  readonly id: string
  readonly [field: string]: unknown
}

/** Runs one command to its end; a command that doesn't end is killed. */
export function fencegate(...args: readonly string[]): Promise<CommandResult> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: ENV, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<CommandResult>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr })),
  )
  return within(ended, `the end of fencegate ${args.join(' ')}`, 20_000).finally(() => child.kill('SIGKILL'))
}

/** Runs a command on the sidecar that must succeed, and returns its JSON. */
export async function command<T = { open: ListedWrite[] }>(
  { data }: Sidecar,
  ...args: readonly string[]
): Promise<T> {
  const { code, stdout, stderr } = await fencegate(...args, '--data', data, '--json')
  if (code !== 0) throw new Error(`fencegate ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}

/** The unresolved unknown writes, as the control socket lists them. */
export async function unknown(sidecar: Sidecar): Promise<ListedWrite[]> {
  const { body } = await control(sidecar, 'GET', '/v1/unknown')
  return (body as { unknown: ListedWrite[] }).unknown
}

/** One request on the control socket. */
export function control(
  { data }: Sidecar,
  method: string,
  target: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
    const options = {
      socketPath: path.join(data, 'control.sock'),
      method,
      path: target,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    }
    const request = http.request(options, async (response) => {
      const text = (await response.setEncoding('utf8').toArray()).join('')
      resolve({ status: response.statusCode as number, body: JSON.parse(text) })
    })
    request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
  return within(answer, `an answer to ${method} ${target}`)
}

/** The rows of one table of a sidecar's store, which must have ended. Integers are bigints. */
export function rows({ data }: Sidecar, table: 'journal' | 'writes' | 'marks'): Record<string, unknown>[] {
  const db = new DatabaseSync(path.join(data, 'marks.db'), { readOnly: true })
  try {
    const statement = db.prepare(`SELECT * FROM ${table}`)
    statement.setReadBigInts(true)
    return statement.all().map((row) => ({ ...row }))
  } finally {
    db.close()
  }
}
