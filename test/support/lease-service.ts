/**
 * A lease service, as a process of its own: grants a task to one holder at a time, with a token that only rises and
 * outlives the process, for as long as the lease is renewed. A lease that it has forgotten can't be renewed.
 *
 * Arguments: port (0: any), file of the tokens, milliseconds of a lease. Says its port once it listens.
 */
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const [port = '0', file = '', leaseMs = ''] = process.argv.slice(2)
const tokens: Record<string, number> = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {}
const leases = new Map<string, { readonly token: number; untilMs: number }>()

process.once('disconnect', () => process.exit())

/** `POST /{task}` acquires, `PUT /{task}/{token}` renews: the token, or undefined. */
function answer(method: string | undefined, task: string, token: number): number | undefined {
  const lease = leases.get(task)
  const untilMs = performance.now() + Number(leaseMs)
  if (method === 'PUT') {
    if (lease?.token !== token) return undefined
    lease.untilMs = untilMs
    return token
  }
  if (lease && lease.untilMs > performance.now()) return undefined
  const granted = (tokens[task] ?? 0) + 1
  tokens[task] = granted
  fs.writeFileSync(file, JSON.stringify(tokens))
  leases.set(task, { token: granted, untilMs })
  return granted
}

const server = http.createServer((request, response) => {
  const [, task = '', token] = (request.url ?? '').split('/')
  const granted = answer(request.method, task, Number(token))
  response.writeHead(granted === undefined ? 409 : 200).end(String(granted))
})
server.listen(Number(port), '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
