/** Connections that stand still in the middle of a request or of an answer make room for one that asks. */
import net, { type AddressInfo, type Socket } from 'node:net'
import { afterAll, test } from 'vitest'
import { limitConnections } from '../../src/admin/connections.ts'
import { makeServer } from '../../src/admin/server.ts'
import { until } from '../support/wait.ts'

const MOST = 4
const server = makeServer({
  failed: (error) => {
    throw error
  },
  requestTimeoutMs: 10_000,
  silenceMs: 0,
})
limitConnections(server.server, MOST)
let asked = 0
server.addHook('onRequest', async () => void asked++)
server.post('/act', async () => ({}))
server.get('/long', async () => 'x'.repeat(50_000_000))
server.get('/livez', async () => 'alive')
await server.listen({ host: '127.0.0.1', port: 0 })
const { port } = server.server.address() as AddressInfo

const open = () =>
  new Promise<number>((resolve) => server.server.getConnections((_, count) => resolve(count)))

const sockets: Socket[] = []
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await server.close()
})

test.each([
  [
    'send no more',
    'POST /act HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 30\r\n\r\n{',
  ],
  ['read no more', 'GET /long HTTP/1.1\r\nHost: x\r\n\r\n'],
])('clients that %s keep nobody out', async (_, text) => {
  asked = 0
  for (let i = 0; i < MOST; i++) {
    sockets.push(
      net.connect(port, '127.0.0.1', function (this: Socket) {
        this.write(text)
      }),
    )
    sockets.at(-1)?.on('error', () => {})
    await until(() => asked === i + 1, 'the request')
  }
  let answer = ''
  const client = net.connect(port, '127.0.0.1').setEncoding('utf8')
  sockets.push(client)
  client
    .on('error', () => {})
    .on('data', (chunk) => {
      answer += chunk
    })
  client.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => answer.endsWith('alive'), 'the answer')
  for (const socket of sockets.splice(0)) socket.destroy()
  await until(async () => (await open()) === 0, 'the end of all connections')
})
