/**
 * A worker, as a process of its own: takes the lease of each of its tasks, and writes with its token until it is told
 * that it is stale. It does not stop because it can't renew: that is what the fence is for. While it can't get a
 * lease, it makes its payments without a token, on the route that admits those.
 *
 * Arguments: ports of the lease service and the sidecar, milliseconds of a lease, tasks. Tells of each thing it did.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const [leasePort, sidecarPort, leaseMs, ...tasks] = process.argv.slice(2)
/** How long it waits for the lease service, and between two writes of a task. */
const PATIENCE_MS = 100
const PACE_MS = 4

export interface Told {
  readonly kind: 'granted' | 'no-lease' | 'renewed' | 'not-renewed' | 'wrote' | 'paid'
  readonly task: string
  readonly token?: number | undefined
  /** Of a write. */
  readonly status?: number
  /** Of a write that was refused. */
  readonly code?: string | undefined
}

process.once('disconnect', () => process.exit())
const tell = (told: Told) => process.send?.(told)

async function lease(method: 'POST' | 'PUT', path: string): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answer = await fetch(`http://127.0.0.1:${leasePort}/${path}`, { method, signal })
    const text = await answer.text()
    return answer.ok ? Number(text) : undefined
  } catch {
    return undefined
  }
}

async function send(
  kind: 'wrote' | 'paid',
  task: string,
  token: number | undefined,
  n: number,
): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${sidecarPort}/${kind}/${task}/${n}`, {
    method: 'POST',
    headers: {
      'Idempotency-Key': `${process.pid}-${n}`,
      ...(token !== undefined && { 'Fencing-Token': String(token) }),
    },
    body: `${n}`,
  })
  const text = await response.text()
  const code = response.ok ? undefined : (JSON.parse(text) as { code?: string }).code
  tell({ kind, task, token, status: response.status, code })
  return response.ok
}

async function renew(task: string, token: number, held: () => boolean): Promise<void> {
  while (held()) {
    await sleep(Number(leaseMs) / 3)
    const renewed = (await lease('PUT', `${task}/${token}`)) !== undefined
    tell(renewed ? { kind: 'renewed', task, token } : { kind: 'not-renewed', task })
  }
}

async function work(task: string): Promise<void> {
  let token: number | undefined
  let n = 0
  while (token === undefined) {
    token = await lease('POST', task)
    if (token !== undefined) break
    tell({ kind: 'no-lease', task })
    await send('paid', task, undefined, n++)
  }
  tell({ kind: 'granted', task, token })
  let held = true
  const renewing = renew(task, token, () => held)
  while (held) {
    held = await send('wrote', task, token, n++)
    await sleep(PACE_MS)
  }
  await renewing
}

await Promise.all(tasks.map(work))
process.disconnect?.()
