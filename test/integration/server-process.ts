/** Other people's servers as real processes: started on free ports, and ended by process id with the test file. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import { until } from '../support/wait.ts'

const running = new Set<ChildProcess>()

afterAll(async () => {
  const ends = [...running].map((child) => once(child, 'exit'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(ends)
})

// A file that fails before its first test runs no hooks.
process.once('SIGTERM', () => {
  for (const child of running) child.kill('SIGKILL')
  process.exit()
})

/** A port that was free a moment ago, for a server that can't say which one it took. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a server and resolves once `ready` says so; rejects with its output if it ends before. */
export async function startServer(
  command: string,
  args: readonly string[],
  ready: () => Promise<boolean>,
): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  let ended = false
  child.once('error', (error) => {
    output += error.message
    running.delete(child)
    ended = true
  })
  child.once('exit', () => {
    running.delete(child)
    ended = true
  })
  await until(async () => ended || (await ready()), `${command} is ready`, 20_000)
  if (ended) throw new Error(`${command} ended before it was ready:\n${output}`)
}

/** Whether something listens on the port. */
export async function listens(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1')
  const reached = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return reached
}
