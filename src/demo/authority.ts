/**
 * The lease authority, as a process: grants a task to one holder at a time, with a token that only rises.
 * It does its work without a fault: what goes wrong in the incident goes wrong although it does.
 *
 * `POST /leases/{task}` with `{holder, ttlMs}` acquires: the answer comes when the lease is granted, at once
 * or when the present one ends. `DELETE /leases/{task}/{token}` releases. A lease lasts for one export, so
 * there is no renewal.
 */
import { readJson, report, serve } from './role.ts'
import type { Writer } from './story.ts'

interface Lease {
  readonly holder: Writer
  readonly token: number
  readonly end: NodeJS.Timeout
}

const leases = new Map<string, Lease>()
const waiting: { readonly task: string; readonly grant: () => void }[] = []
let lastToken = 0

function acquire(task: string, holder: Writer, ttlMs: number, granted: (token: number) => void): void {
  const held = leases.get(task)
  if (held) {
    waiting.push({ task, grant: () => acquire(task, holder, ttlMs, granted) })
    void report({ kind: 'lease-awaited', by: holder, holder: held.holder })
    return
  }
  const token = ++lastToken
  const end = setTimeout(() => {
    void report({ kind: 'lease-ended', holder, token })
    free(task)
  }, ttlMs)
  leases.set(task, { holder, token, end })
  granted(token)
}

/** False if the token is not the one under which the task is held. */
function release(task: string, token: number): boolean {
  const lease = leases.get(task)
  if (lease?.token !== token) return false
  clearTimeout(lease.end)
  free(task)
  return true
}

function free(task: string): void {
  leases.delete(task)
  const next = waiting.findIndex((waiter) => waiter.task === task)
  if (next >= 0) waiting.splice(next, 1)[0]?.grant()
}

await serve(async (request, response) => {
  const answer = (status: number, body: object) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

  const [, , task = '', token] = (request.url ?? '').split('/')
  if (request.method === 'POST') {
    const { holder, ttlMs } = (await readJson(request)) as { holder: Writer; ttlMs: number }
    acquire(task, holder, ttlMs, (granted) => answer(200, { token: granted }))
  } else if (request.method === 'DELETE' && release(task, Number(token))) {
    answer(200, { released: true })
  } else {
    answer(409, { error: `the lease on ${task} is not held under token ${token}` })
  }
})
