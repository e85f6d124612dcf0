/** A thousand half-open connections, in the clear and for TLS: honest traffic goes on, and then nothing is left of them. */
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { expect, test } from 'vitest'
import { identityFiles, client as tlsClient } from '../support/certificates.ts'
import { descriptors, LINUX, residentBytes } from '../support/linux.ts'
import { exchange, RawClient } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const COUNT = 1000
const GENEROUS_MS = 20_000
const limits = { headTimeout: '3s' }
const { upstream, sidecar: plain } = await scene({ limits })
const secure = await Sidecar.start({
  upstream: upstream.url,
  config: { limits, tls: identityFiles('server-1') },
})
const HEAD = `PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Task: K\r\nFencing-Token: 9\r\nX-A: ${'a'.repeat(200)}`
/** A handshake's first bytes; what follows them is part of it, for as long as these say. */
const HELLO = Buffer.concat([
  Buffer.from('160301020001' + '0001fc0303', 'hex'),
  Buffer.alloc(200, 7),
]).toString('latin1')

/** Clients that never come to their first request: silent ones, half ones, and ones that send on byte by byte. */
class HalfOpen {
  readonly #sockets: Socket[] = []
  readonly #trickling: { socket: Socket; sent: number }[] = []
  readonly #bytes: string
  readonly #timer: NodeJS.Timeout

  constructor(bytes: string) {
    this.#bytes = bytes
    this.#timer = setInterval(() => {
      for (const one of this.#trickling) {
        if (one.socket.writable) one.socket.write(bytes[one.sent++ % bytes.length] as string, 'latin1')
      }
    }, 100)
  }

  async open(port: number): Promise<void> {
    for (let i = 0; i < COUNT; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, j) => this.#add(port, i + j)))
    }
  }

  async #add(port: number, i: number): Promise<void> {
    const socket = net.connect({ port, host: '127.0.0.1' }).on('error', () => {})
    this.#sockets.push(socket)
    await once(socket, 'connect')
    socket.resume()
    if (i % 3 === 1) socket.write(this.#bytes.slice(0, 60), 'latin1')
    if (i % 3 === 2) this.#trickling.push({ socket, sent: 0 })
  }

  get ended(): number {
    return this.#sockets.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length
  }

  close(): void {
    clearInterval(this.#timer)
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** Writes and reads, on kept connections and on new ones, as long as `more` says; resolves to how many. */
async function honest(
  port: number,
  options: ConnectionOptions | undefined,
  more: () => boolean,
): Promise<number> {
  const kept = await RawClient.connect(port, options)
  let served = 0
  do {
    const answers = [
      await kept.exchange(claim('honest', 1), GENEROUS_MS),
      await kept.exchange({ method: 'GET' }, GENEROUS_MS),
      await exchange(port, claim('honest', 1), GENEROUS_MS, options),
    ]
    for (const { status } of answers) expect(status).toBe(200)
    served += answers.length
  } while (more())
  kept.close()
  return served
}

async function besiege(
  sidecar: Sidecar,
  options: ConnectionOptions | undefined,
  bytes: string,
): Promise<void> {
  const { pid } = sidecar.process
  const workers = (more: () => boolean) =>
    Promise.all(Array.from({ length: 3 }, () => honest(sidecar.port, options, more)))
  let warmUp = 50
  await workers(() => warmUp-- > 0)
  const [sockets, memory] = [descriptors(pid), residentBytes(pid)]
  const halfOpen = new HalfOpen(bytes)
  let peak = 0
  const look = () => {
    peak = Math.max(peak, descriptors(pid) - sockets)
  }
  const timer = setInterval(look, 20)
  try {
    await halfOpen.open(sidecar.port)
    look()
    const served = await workers(() => halfOpen.ended < COUNT)
    expect(Math.min(...served)).toBeGreaterThan(3)
  } finally {
    clearInterval(timer)
    halfOpen.close()
  }
  // On a busy machine the first have ended before the last have come.
  expect(peak).toBeGreaterThan(COUNT / 2)
  await until(() => descriptors(pid) <= sockets, 'the end of the sockets')
  expect(residentBytes(pid) - memory).toBeLessThan(96 * 2 ** 20)
  expect((await sidecar.metrics()).sum('fencegate_open_writes')).toBe(0)
  // One line for the first, and counts.
  expect(sidecar.logs.filter(({ code }) => code === 'head-timeout').length).toBeLessThan(5)
}

test.runIf(LINUX)('a thousand of each, until the sidecar has ended the last', async () => {
  await Promise.all([besiege(plain, undefined, HEAD), besiege(secure, tlsClient(), HELLO)])
})
