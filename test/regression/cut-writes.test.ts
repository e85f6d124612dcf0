/**
 * A write that was cut off came to the resource all the same, whole and behind its successor's, if the system had
 * taken its bytes before: after an ordinary close it goes on sending them. So it is for an upgraded connection.
 */
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import tls from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { identity, pemFile } from '../support/certificates.ts'
import { exchange } from '../support/raw-client.ts'
import { claim } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

/** More than a resource that does not read has room for, and less than the system takes for it. */
const BODY = Buffer.alloc(1_500_000, 'a')
const LAST = 'the last bytes'
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'

/** Reads the head of a write with token 8 and no more until it is told; answers every other request. */
class Resource {
  readonly #server: net.Server
  old: Socket | undefined
  last = false
  ended: string | undefined

  constructor(secure: boolean) {
    const take = (socket: Socket) => this.#take(socket)
    this.#server = secure ? tls.createServer(identity('server-1'), take) : net.createServer(take)
    this.#server.listen(0, '127.0.0.1')
  }

  async url(): Promise<string> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    const scheme = this.#server instanceof tls.Server ? 'https' : 'http'
    return `${scheme}://localhost:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.old?.destroy()
    this.#server.close()
  }

  #take(socket: Socket): void {
    socket.on('error', () => {})
    socket.once('data', (first: Buffer) => {
      const head = first.toString('latin1')
      if (!/^Fencing-Token: 8\r$/im.test(head)) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
        return
      }
      this.old = socket.pause()
      if (/^upgrade: raw\r$/im.test(head)) socket.write(SWITCH)
      socket.on('data', (chunk) => {
        if (chunk.includes(LAST)) this.last = true
      })
      socket.on('error', ({ message }) => {
        this.ended = message
      })
      socket.on('end', () => {
        this.ended = 'in order'
      })
    })
  }
}

const KINDS = ['http', 'https'].flatMap((scheme) => [
  [scheme, 'a body'] as const,
  [scheme, 'an upgraded connection'] as const,
])

test.each(KINDS)('over %s, %s that was cut off is not sent on', async (scheme, kind) => {
  const resource = new Resource(scheme === 'https')
  afterAll(() => resource.close())
  const upgraded = kind !== 'a body'
  const sidecar = await Sidecar.start({
    upstream: await resource.url(),
    config: {
      ...(scheme === 'https' && { upstream: { tls: { ca: pemFile('server-ca') } } }),
      routes: [{ name: 'all', handover: 'abort', upgrades: ['raw'] }],
    },
  })
  const client = net.connect(sidecar.port, '127.0.0.1').on('error', () => {})
  afterAll(() => client.destroy())
  const fields = 'Host: x\r\nFencing-Task: cut\r\nFencing-Token: 8\r\n'
  if (upgraded) {
    client.write(`GET / HTTP/1.1\r\n${fields}Connection: Upgrade\r\nUpgrade: raw\r\n\r\n`)
    await once(client, 'data')
  } else {
    client.write(`PUT / HTTP/1.1\r\n${fields}Content-Length: ${BODY.length + LAST.length}\r\n\r\n`)
  }
  client.write(BODY)
  client.write(LAST)
  await until(() => resource.old !== undefined && client.writableLength === 0, 'all of it to be on its way')
  client.resume()
  expect((await exchange(sidecar.port, claim('cut', 9))).status).toBe(200)
  // Only now does the resource read on.
  resource.old?.resume()
  await until(() => resource.ended !== undefined, 'the end of its connection')
  expect(resource.ended).toContain('ECONNRESET')
  expect(resource.last).toBe(false)
})
