/**
 * What every process of the demo needs on its own side: a way to report to the demo, and an end when the
 * demo is gone.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Message, Order } from './story.ts'

process.once('disconnect', () => process.exit())

/** Resolves when the message is on its way, so that a process may end after its last report. */
export function report(message: Message): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!process.send) throw new Error('this file is a part of `fencegate demo` and is started by it')
    process.send(message, undefined, {}, (error) => (error ? reject(error) : resolve()))
  })
}

/** The next order. The demo sends one only after the report that asks for it, so none is missed. */
export async function nextOrder<O extends Order>(): Promise<O> {
  const [order] = await once(process, 'message')
  return order
}

/** Serves on a free port of the loopback address, and reports it. */
export async function serve(listener: RequestListener): Promise<void> {
  // Longer than any pause of the demo: A's old connection must still be there when A is continued.
  const server = createServer({ keepAliveTimeout: 60_000 }, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await report({ kind: 'listening', origin: `http://127.0.0.1:${port}` })
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}
