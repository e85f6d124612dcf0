/**
 * How long a handover keeps the new holder waiting, with older writes of the task open at the resource: from its
 * request under `abort`, which cuts them; from their answers under `drain`, which waits for them.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { startSidecar } from './processes.ts'
import { type Scale, type Section, twoDigits } from './report.ts'

const OLDER = [0, 1, 64]
type Handover = 'abort' | 'drain'

/** A resource that answers PUT at once, and POST when told to. */
class Resource {
  readonly #held: http.ServerResponse[] = []
  #heldOrEnded = () => {}
  readonly #server = http.createServer((req, res) => {
    if (req.method === 'PUT') {
      res.end()
      return
    }
    this.#held.push(res)
    this.#heldOrEnded()
  })

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return (this.#server.address() as AddressInfo).port
  }

  holds(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#heldOrEnded = () => this.#held.length >= count && resolve()
      this.#heldOrEnded()
    })
  }

  answerHeld(): void {
    for (const res of this.#held.splice(0)) res.end()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

export async function handovers(scale: Scale): Promise<Section> {
  const rounds = scale.quick ? 20 : 200
  const resource = new Resource()
  const upstreamPort = await resource.listen()
  const routes = (['abort', 'drain'] as const).map((handover) => ({
    name: handover,
    match: { path: `/${handover}/*` },
    handover,
  }))
  const data = path.join(scale.directory, 'handover')
  const sidecar = await startSidecar({ main: scale.main, upstreamPort, data, config: { routes } })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 256 })
  const rows = []
  let token = 0
  for (const handover of ['abort', 'drain'] as const) {
    for (const older of OLDER) {
      const times: number[] = []
      for (let i = 0; i < rounds; i++) {
        token += 2
        times.push(await handOver({ resource, agent, port: sidecar.port, handover, older, token }))
      }
      rows.push({
        handover,
        'older open': older,
        'p50 ms': percentile(times, 0.5),
        'p99 ms': percentile(times, 0.99),
      })
    }
  }
  agent.destroy()
  await sidecar.process.end()
  resource.close()
  return {
    name: 'handovers',
    title: 'Handovers: until the new holder has its answer',
    rows,
    notes: [
      `${rounds} handovers each, every one with its fsyncs`,
      'abort: from the request; drain: from the answers to the older writes, which the request waited for',
    ],
  }
}

interface Round {
  readonly resource: Resource
  readonly agent: http.Agent
  readonly port: number
  readonly handover: Handover
  readonly older: number
  /** Of the older writes; the new holder's is one more. */
  readonly token: number
}

async function handOver({ resource, agent, port, handover, older, token }: Round): Promise<number> {
  const write = (method: string, own: number) =>
    new Promise<void>((resolve, reject) => {
      const headers = { 'Fencing-Task': handover, 'Fencing-Token': String(own) }
      const req = http.request({ agent, port, host: '127.0.0.1', method, path: `/${handover}/x`, headers })
      req
        .on('response', (res) => res.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
  const olderWrites = Array.from({ length: older }, () => write('POST', token))
  await resource.holds(older)
  let since = performance.now()
  const taken = write('PUT', token + 1)
  if (handover === 'drain' && older > 0) {
    // The raise is durable and the request waits; only then do the older writes end.
    await new Promise((resolve) => setTimeout(resolve, 20))
    since = performance.now()
    resource.answerHeld()
  }
  await taken
  const waited = performance.now() - since
  resource.answerHeld()
  await Promise.all(olderWrites)
  return waited
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return twoDigits(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number)
}
