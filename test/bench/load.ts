/**
 * The load generator, in a process of its own: sends prebuilt bytes on keep-alive connections, one request at
 * a time on each, and counts whole answers. Anything but 200 fails the run.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import net, { type Socket } from 'node:net'

export interface Load {
  readonly port: number
  readonly connections: number
  readonly requests: number
  /** Requests claim the tasks from 0 up to this number, in turn. */
  readonly tasks: number
  readonly path?: string
  /** Each request is an attempt of an operation: `new` ones, or all of the one with this key. */
  readonly operation?: string
}

export interface LoadResult {
  /** From the first byte sent to the last one received, connections already open. */
  readonly seconds: number
  /** From a request's first byte to its answer's last: the middle one, and the one that 1 % took longer than. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failure?: string
}

const DEADLINE_MS = 300_000
const BODY = JSON.stringify({
  settlement: 'st_01J9ZQ4W6T',
  account: 'acct_5521',
  currency: 'EUR',
  amount: 1_254_300,
  entries: [
    { side: 'debit', amount: 1_254_300, ledger: 'clearing' },
    { side: 'credit', amount: 1_254_300, ledger: 'merchant' },
  ],
})

/** The name of task `n`; `memory.ts` makes the same names in SQL. */
const taskName = (n: number) => `settlement-${String(n).padStart(7, '0')}`

function request(path: string, task: string, key?: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nContent-Type: application/json\r\n` +
      `Fencing-Task: ${task}\r\nFencing-Token: 8\r\n${key === undefined ? '' : `Idempotency-Key: ${key}\r\n`}` +
      `Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  )
}

async function run(load: Load): Promise<LoadResult> {
  const { port, connections, requests, tasks, path = '/settlements', operation } = load
  const isNew = operation === 'new'
  const run = randomUUID()
  const constant = request(path, taskName(0), operation)
  let sent = 0
  const next = () =>
    tasks === 1 && !isNew
      ? constant
      : request(path, taskName(sent % tasks), isNew ? `${run}-${sent}` : operation)
  const took: number[] = []
  const sockets = await Promise.all(Array.from({ length: connections }, () => connect(port)))
  const started = performance.now()
  const done = sockets.map(
    (socket) =>
      new Promise<void>((resolve, reject) => {
        let begun = 0
        const send = () => {
          if (sent === requests) return resolve()
          begun = performance.now()
          socket.write(next())
          sent++
        }
        const answered = () => {
          took.push(performance.now() - begun)
          send()
        }
        answers(socket, answered, reject)
        send()
      }),
  )
  const late = setTimeout(() => sockets[0]?.destroy(new Error(`not done in ${DEADLINE_MS} ms`)), DEADLINE_MS)
  try {
    await Promise.all(done)
    const seconds = (performance.now() - started) / 1000
    took.sort((a, b) => a - b)
    const quantile = (share: number) => took[Math.ceil(share * took.length) - 1] as number
    return { seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99) }
  } catch (error) {
    return { seconds: 0, p50Ms: 0, p99Ms: 0, failure: String(error) }
  } finally {
    clearTimeout(late)
    for (const socket of sockets) socket.destroy()
  }
}

async function connect(port: number): Promise<Socket> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** Calls `answered` at the end of each answer. */
function answers(socket: Socket, answered: () => void, failed: (error: Error) => void): void {
  let unread: Buffer = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes])
    const head = unread.indexOf('\r\n\r\n')
    if (head === -1) return
    const text = unread.toString('latin1', 0, head)
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
    if (!text.startsWith('HTTP/1.1 200 ') || length === undefined) {
      failed(new Error(`not a plain 200: ${unread.toString()}`))
    } else if (unread.length >= head + 4 + Number(length)) {
      unread = Buffer.alloc(0)
      answered()
    }
  })
  socket.on('error', failed)
  socket.on('close', () => failed(new Error('the connection was closed')))
}

process.on('message', async (load: Load) => process.send?.(await run(load)))
process.once('disconnect', () => process.exit())
