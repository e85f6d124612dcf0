import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resetOnFailure } from '../../src/proxy/unsent.ts'

const server = net.createServer({ pauseOnConnect: true })
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => server.close())

/** A socket that is reset by failures called `fatal`, and the other side of it, which reads nothing yet. */
async function connected(): Promise<{ socket: Socket; peer: Socket }> {
  const accepted = once(server, 'connection')
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  const [peer] = (await accepted) as [Socket]
  if (socket.connecting) await once(socket, 'connect')
  resetOnFailure(socket, ({ message }) => message === 'fatal')
  return { socket, peer }
}

/** How the other side sees the connection end. */
function endOf(peer: Socket): Promise<string | undefined> {
  const end = new Promise<string | undefined>((resolve) => {
    peer
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      .on('end', () => resolve('in order'))
  })
  peer.resume()
  return end
}

/** Not by `once`, which an error ends. */
function closing(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.on('close', resolve))
}

test.each([
  ['fatal', 'ECONNRESET'],
  ['harmless', 'in order'],
  [undefined, 'in order'],
])('destroyed with %s it ends: %s', async (message, end) => {
  const { socket, peer } = await connected()
  const closed = closing(socket)
  socket.destroy(message === undefined ? undefined : new Error(message))
  await closed
  expect(await endOf(peer)).toBe(end)
})

test('while its own end waits behind what it has to write, it is reset', async () => {
  const { socket, peer } = await connected()
  socket.end(Buffer.alloc(64 * 1024 * 1024))
  const closed = closing(socket)
  socket.destroy(new Error('fatal'))
  await closed
  expect(await endOf(peer)).toBe('ECONNRESET')
})

test('while its own end is being sent, when no reset is possible, it closes all the same', async () => {
  const { socket, peer } = await connected()
  socket.end('all')
  const closed = closing(socket)
  socket.destroy(new Error('fatal'))
  await closed
  expect(await endOf(peer)).toBe('in order')
})
