/**
 * Clients that write on through a restart, in a process of its own: each has a task, keeps a connection, sends a write at
 * its pace, and after a failure tries again on a new connection until the write is answered 200. Tells the longest time
 * in which no write of anybody succeeded, and what the attempts in it came to.
 */
import http, { type RequestOptions } from 'node:http'

export interface RestartLoad {
  readonly port: number
  readonly clients: number
  /** From one write of a client to its next. */
  readonly paceMs: number
  /** Whether each write has a higher token than the one before. */
  readonly rising: boolean
}

export interface RestartResult {
  /** From the last success before the longest silence to the first one after it. */
  readonly outageMs: number
  /** From the first attempt of a write to its success, at most. */
  readonly slowestMs: number
  readonly written: number
  /** Attempts that found no listener or no connection, were told 502 or 503, and were cut off without an answer. */
  readonly refused: number
  readonly unavailable: number
  readonly cut: number
}

/** Longer than handoverTimeout: a write that waits for a handover gets its answer. */
const ATTEMPT_MS = 20_000
const REPEAT_MS = 20
/** Writes after which it says that the restart may begin. */
const WARM = 500

type Ending = 'written' | 'refused' | 'unavailable' | 'cut'

const tally = { written: 0, refused: 0, unavailable: 0, cut: 0 }
let outageMs = 0
let slowestMs = 0
let lastSuccess = performance.now()
let stopping = false

async function client(load: RestartLoad, task: string): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  for (let token = 1; !stopping; token++) {
    const begun = performance.now()
    for (;;) {
      const ending = await attempt(load.port, task, load.rising ? token : 1, agent)
      tally[ending]++
      if (ending === 'written') break
      await elapsed(REPEAT_MS)
    }
    const now = performance.now()
    outageMs = Math.max(outageMs, now - lastSuccess)
    slowestMs = Math.max(slowestMs, now - begun)
    lastSuccess = now
    if (tally.written === WARM) process.send?.('warm')
    await elapsed(Math.max(0, load.paceMs - (now - begun)))
  }
  agent.destroy()
}

function attempt(port: number, task: string, token: number, agent: http.Agent): Promise<Ending> {
  const options: RequestOptions = {
    host: '127.0.0.1',
    port,
    path: '/doc',
    method: 'PUT',
    agent,
    headers: { 'Fencing-Task': task, 'Fencing-Token': token },
    timeout: ATTEMPT_MS,
  }
  return new Promise((resolve) => {
    const request = http.request(options)
    request.on('response', (response) => {
      response.resume()
      response.once('end', () => resolve(endingOf(response.statusCode)))
      response.once('error', () => resolve('cut'))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'ECONNREFUSED' ? 'refused' : 'cut')
    })
    request.end('a body of some bytes')
  })
}

/** What no retry mends fails the run. */
function endingOf(status: number | undefined): Ending {
  if (status === 200) return 'written'
  if (status === 502 || status === 503) return 'unavailable'
  throw new Error(`a write got ${status}`)
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

process.on('message', async (message: RestartLoad | 'stop') => {
  if (message === 'stop') {
    stopping = true
    return
  }
  lastSuccess = performance.now()
  const tasks = Array.from({ length: message.clients }, (_, n) => `restart-${n}`)
  await Promise.all(tasks.map((task) => client(message, task)))
  process.send?.({ outageMs, slowestMs, ...tally } satisfies RestartResult)
})
process.once('disconnect', () => process.exit())
