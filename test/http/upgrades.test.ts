/** CASE 6: a connection that changes to another protocol needs a current token for as long as it lasts. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { command, unknown } from '../support/operator.ts'
import { encode, exchange, RawClient, type RawRequest } from '../support/raw-client.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'
import { fieldValues } from '../support/wire.ts'

const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 })
await once(sockets, 'listening')
let connections = 0
sockets.on('connection', (socket) => {
  connections++
  socket.on('message', (data, binary) => socket.send(data, { binary }))
})
afterAll(() => sockets.close())

const sidecar = await Sidecar.start({
  upstream: `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`,
  config: {
    routes: [
      { name: 'open', match: { path: '/open' }, guard: 'none', upgrades: ['websocket'] },
      { name: 'shut', match: { path: '/shut' } },
      { name: 'live', upgrades: ['websocket'] },
    ],
  },
})
const openWrites = async () => (await sidecar.metrics()).sum('fencegate_open_writes')
const records = async (task: string) => (await unknown(sidecar)).filter((write) => write.task === task)

function webSocket(target: string, headers: Record<string, string>): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${sidecar.port}${target}`, { headers })
}

async function opened(task: string, token: string, target = '/live'): Promise<WebSocket> {
  const socket = webSocket(target, { 'Fencing-Task': task, 'Fencing-Token': token })
  await once(socket, 'open')
  return socket
}

/** Sends one message and waits for its echo. */
async function echo(socket: WebSocket, text: string): Promise<void> {
  const answer = once(socket, 'message')
  socket.send(text)
  expect(String((await answer)[0])).toBe(text)
}

const HANDSHAKE = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
] as const
const ask = (task: string, token: number, target: string) =>
  claim(task, token, { method: 'GET', target, headers: HANDSHAKE, body: undefined })

test('with a current token it is passed through both ways, and is open for as long as it lasts', async () => {
  const socket = await opened('both', '3')
  await echo(socket, 'one')
  await echo(socket, 'x'.repeat(300_000))
  expect(await openWrites()).toBe(1)
  const closed = once(socket, 'close')
  socket.close(1000)
  expect((await closed)[0]).toBe(1000)
  await until(async () => (await openWrites()) === 0, 'its end')
  expect(
    (await sidecar.metrics()).sum('fencegate_outcomes_total', { outcome: 'answered', route: 'live' }),
  ).toBe(1)
})

test('a higher token severs it at once, on record, and the next holder goes on', async () => {
  const socket = await opened('severed', '3')
  await echo(socket, 'before')
  const closed = once(socket, 'close')
  const next = await opened('severed', '4')
  expect((await closed)[0]).toBe(1006)
  await echo(next, 'after')
  expect(await records('severed')).toMatchObject([{ token: '3', reason: 'superseded', route: 'live' }])
  next.terminate()
  await until(async () => (await openWrites()) === 0, 'its end')
})

test('a freeze severs it', async () => {
  const socket = await opened('frozen', '3')
  const closed = once(socket, 'close')
  await command(sidecar, 'freeze', 'frozen', '--reason', 'test')
  expect((await closed)[0]).toBe(1006)
  expect(await records('frozen')).toMatchObject([{ token: '3', reason: 'frozen' }])
})

test('without a token, or with a stale one, it is refused before any 101, and nothing connects', async () => {
  const socket = await opened('old', '9')
  socket.terminate()
  await until(async () => (await openWrites()) === 0, 'its end')
  const before = connections
  const refused = async (request: RawRequest, status: number, code: string) => {
    const client = await RawClient.connect(sidecar.port)
    refusal(await client.exchange(request), status, code)
    expect(await client.ended()).toBe('fin')
  }
  await refused(ask('old', 7, '/live'), 412, 'stale-token')
  await refused(ask('old', 7, '/shut'), 412, 'stale-token')
  await refused({ method: 'GET', target: '/live', headers: HANDSHAKE }, 428, 'token-required')
  await refused({ method: 'GET', target: '/shut', headers: HANDSHAKE }, 428, 'token-required')
  expect(connections).toBe(before)
})

test('on a route that does not allow it, a current token is no use', async () => {
  const problem = refusal(await exchange(sidecar.port, ask('shut', 1, '/shut')), 403, 'unsupported-upgrade')
  expect(problem).toMatchObject({ sent: 'no', retry: 'never' })
  const other = {
    ...ask('shut', 1, '/live'),
    headers: [
      ['Connection', 'upgrade'],
      ['Upgrade', 'irc'],
    ] as const,
  }
  refusal(await exchange(sidecar.port, claim('shut', 1, other)), 403, 'unsupported-upgrade')
})

test('on a route without a guard it needs no token', async () => {
  const socket = webSocket('/open', {})
  await once(socket, 'open')
  await echo(socket, 'open')
  expect(await openWrites()).toBe(0)
  socket.terminate()
})

test.each(['h2c', 'HTTP/2.0', 'TLS/1.2'])(
  'an offer of %s is left out: it is the same request',
  async (protocol) => {
    const answer = await exchange(sidecar.port, {
      method: 'GET',
      target: '/live',
      headers: [
        ['Connection', 'Upgrade'],
        ['Upgrade', protocol],
      ],
    })
    // What the resource says to a GET that is no handshake.
    expect(answer.status).toBe(426)
  },
)

test('an upgrade behind a request that is not answered yet is refused', async () => {
  const client = await RawClient.connect(sidecar.port)
  await client.send(Buffer.concat([encode({ method: 'GET' }), encode(ask('behind', 1, '/live'))]))
  expect((await client.answer('GET')).status).toBe(426)
  refusal(await client.answer('GET'), 403, 'unsupported-upgrade')
  client.close()
})

test('an upgrade on a connection that has been used is passed through', async () => {
  const client = await RawClient.connect(sidecar.port)
  expect((await client.exchange({ method: 'GET' })).status).toBe(426)
  void client.send(encode(ask('used', 1, '/live')))
  const head = await client.head()
  expect(head.status).toBe(101)
  expect(fieldValues(head.headers, 'sec-websocket-accept')).toEqual(['s3pPLMBiTxaQ9kYGzzhZRbK+xOo='])
  expect(fieldValues(head.headers, 'upgrade')).toEqual(['websocket'])
  client.close()
  await until(async () => (await openWrites()) === 0, 'its end')
})

test('a client that vanishes leaves nothing open', async () => {
  const socket = await opened('vanishes', '1')
  socket.terminate()
  await until(async () => (await openWrites()) === 0, 'its end')
})

test('an orderly stop ends it, and the stop is clean', async () => {
  const socket = await opened('stop', '1')
  const closed = once(socket, 'close')
  expect(await sidecar.stop()).toBe(0)
  expect((await closed)[0]).toBe(1006)
  expect(sidecar.logs.find(({ msg }) => msg === 'stopped')).toMatchObject({ clean: true })
})
