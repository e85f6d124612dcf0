/**
 * How an upgraded connection ends. Half-closed by its client, it was cut off after `idleTimeout`, whatever the resource
 * still said; half-closed by the resource, it stayed open, with its write, for as long as the client liked; and one
 * that broke looked to the other side like one that had ended.
 */
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const IDLE_MS = 600
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n'

/** What the resource does once its connection has changed, by the target that it was asked for. */
const deeds: Record<string, (socket: Socket) => void> = {
  '/streams': (socket) => {
    let said = 0
    const timer = setInterval(() => {
      socket.write('word ')
      if (++said < 12) return
      clearInterval(timer)
      socket.end('end')
    }, IDLE_MS / 4)
    socket.once('close', () => clearInterval(timer))
  },
  '/ends': (socket) => socket.end('bye'),
  '/breaks': (socket) => socket.write('half', () => socket.resetAndDestroy()),
}

const resource = net.createServer({ allowHalfOpen: true }, (socket) => {
  socket
    .on('error', () => {})
    .once('data', (head: Buffer) => {
      const target = head.toString('latin1').split(' ')[1] as string
      socket.write(SWITCH)
      deeds[target]?.(socket)
    })
})
resource.listen(0, '127.0.0.1')
await once(resource, 'listening')
afterAll(() => resource.close())

const sidecar = await Sidecar.start({
  upstream: `http://127.0.0.1:${(resource.address() as AddressInfo).port}`,
  config: { limits: { idleTimeout: `${IDLE_MS}ms` }, routes: [{ name: 'raw', upgrades: ['raw'] }] },
})

/** A client that closes only when it is told. */
async function open(target: string) {
  const socket = net.connect({ port: sidecar.port, host: '127.0.0.1', allowHalfOpen: true })
  const client = { socket, said: '', ended: undefined as string | undefined }
  afterAll(() => socket.destroy())
  socket.on('end', () => {
    client.ended = 'in order'
  })
  socket.on('error', ({ message }) => {
    client.ended = message
  })
  socket.write(
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: raw\r\n` +
      `Fencing-Task: ${target}\r\nFencing-Token: 1\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  client.said = head.toString('latin1').slice(SWITCH.length)
  socket.on('data', (chunk: Buffer) => {
    client.said += chunk.toString('latin1')
  })
  return client
}
const noneOpen = () =>
  until(async () => (await sidecar.metrics()).sum('fencegate_open_writes') === 0, 'the end of the write')

test('a client that has said all hears all that the resource says, however long that takes', async () => {
  const client = await open('/streams')
  client.socket.end()
  await until(() => client.ended !== undefined, 'its end')
  expect(client).toMatchObject({ ended: 'in order', said: `${'word '.repeat(12)}end` })
  await noneOpen()
})

test('a client that does not end after the resource is not waited for', async () => {
  const client = await open('/ends')
  await until(() => client.ended !== undefined, 'the end of the resource')
  expect(client).toMatchObject({ ended: 'in order', said: 'bye' })
  await noneOpen()
})

test('a connection that breaks does not look as if it had ended', async () => {
  const client = await open('/breaks')
  await until(() => client.ended !== undefined, 'its end')
  expect(client.ended).toContain('ECONNRESET')
  await noneOpen()
})
