/** `limits.connections`: one too many is told so and closed, those that are open notice nothing, and the count is right. */
import net from 'node:net'
import { expect, test } from 'vitest'
import { identityFiles, client as tlsClient } from '../support/certificates.ts'
import { descriptors, LINUX } from '../support/linux.ts'
import { encode, RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const LIMIT = 12
const { upstream, sidecar, send, connect } = await scene({ limits: { connections: LIMIT } })
const secure = await Sidecar.start({
  upstream: upstream.url,
  config: { limits: { connections: LIMIT }, tls: identityFiles('server-1') },
})
const connectSecurely = () => RawClient.connect(secure.port, tlsClient())

/** As many connections as the limit lets in, each of which has been served. */
async function fill(open: () => Promise<RawClient>): Promise<RawClient[]> {
  const clients: RawClient[] = []
  for (let i = 0; i < LIMIT; i++) {
    await until(
      async () => {
        const client = await open().catch(() => undefined)
        const answer = await client?.exchange(claim('K', 1)).catch(() => undefined)
        if (client && answer?.status === 200) clients.push(client)
        else client?.close()
        return answer?.status === 200
      },
      `connection ${i + 1} of ${LIMIT}`,
    )
  }
  return clients
}

async function expectTurnedAway(): Promise<void> {
  const client = await connect()
  const answer = await client.answer()
  expect(refusal(answer, 503, 'overloaded')).toMatchObject({
    sent: 'no',
    retry: 'after',
    detail: expect.stringContaining('limits.connections'),
  })
  expect(answer.values('retry-after')).toEqual(['1'])
  expect(answer.values('connection')).toEqual(['close'])
  expect(await client.ended()).toBe('fin')
}

async function expectTurnedAwaySecurely(): Promise<void> {
  await expect(connectSecurely()).rejects.toThrow(/disconnected before secure TLS|ECONNRESET/)
}

test('one too many gets 503 and is closed; the others are served, and one of them makes room', async () => {
  const clients = await fill(connect)
  await expectTurnedAway()
  const late = await connect()
  void late.send(encode(claim('late', 1, { body: Buffer.alloc(1e6) })))
  refusal(await late.answer(), 503, 'overloaded')
  for (const client of clients) expect((await client.exchange(claim('K', 1))).status).toBe(200)
  expect(upstream.requests.every((request) => request.values('fencing-task')[0] === 'K')).toBe(true)
  clients.pop()?.close()
  await until(async () => (await send(claim('K', 1))).status === 200, 'room for another')
  for (const client of clients) client.close()
})

test.runIf(LINUX)('a flood above the limit: each is answered or cut, and no socket stays', async () => {
  const clients = await fill(connect)
  const before = descriptors(sidecar.process.pid)
  const flood = await Promise.all(Array.from({ length: 300 }, () => connect()))
  expect((await clients[0]?.exchange(claim('K', 1)))?.status).toBe(200)
  const answers = await Promise.all(flood.map((client) => client.answer().catch(() => undefined)))
  const told = answers.filter((answer) => answer !== undefined)
  expect(told.length).toBeGreaterThan(0)
  for (const answer of told) refusal(answer, 503, 'overloaded')
  for (const client of flood) await client.ended()
  for (const client of flood) client.close()
  await until(() => descriptors(sidecar.process.pid) <= before, 'the end of the sockets')
  for (const client of clients) expect((await client.exchange(claim('K', 1))).status).toBe(200)
  for (const client of clients) client.close()
  const line = await sidecar.process.log(({ code }) => code === 'overloaded', 'a line of it')
  expect(line).toMatchObject({ msg: 'request refused', client: '127.0.0.1' })
  expect(sidecar.logs.filter(({ code }) => code === 'overloaded').length).toBeLessThan(10)
})

/** Comes and goes in every way that a connection can, over the limit too. */
async function comeAndGo(port: number, open: () => Promise<RawClient>): Promise<void> {
  const bytes = encode(claim('K', 1))
  const ways: ((client: RawClient) => unknown)[] = [
    (client) => client.close(),
    (client) => client.reset(),
    (client) => client.socket.end(),
    async (client) => {
      await client.send(bytes)
      client.close()
    },
    async (client) => {
      await client.send(bytes.subarray(0, 30))
      client.reset()
    },
    async (client) => {
      await client.send('nonsense\r\n\r\n')
      await client.ended()
    },
    (client) => client.exchange({ ...claim('K', 1), headers: [['Connection', 'close']] }),
  ]
  for (let wave = 0; wave < 6; wave++) {
    await Promise.all(
      ways.flatMap((leave) =>
        [1, 2, 3].map(async () => {
          const client = await open().catch(() => undefined)
          if (!client) return
          try {
            await leave(client)
          } catch {
            // It was turned away, or TLS has no such way.
          }
          client.close()
        }),
      ),
    )
    const plain = net.connect(port, '127.0.0.1').on('error', () => {})
    plain.end('\x16\x03\x01 not a handshake')
    plain.resume()
  }
}

test('after many have come and gone, exactly as many as before get in', async () => {
  await comeAndGo(sidecar.port, connect)
  const clients = await fill(connect)
  await expectTurnedAway()
  for (const client of clients) client.close()
})

test('over TLS they are counted alike, and one too many gets no handshake', async () => {
  await comeAndGo(secure.port, connectSecurely)
  const clients = await fill(connectSecurely)
  await expectTurnedAwaySecurely()
  for (const client of clients) expect((await client.exchange(claim('K', 1))).status).toBe(200)
  clients.pop()?.close()
  await until(
    async () => (await connectSecurely().catch(() => undefined))?.close() === undefined,
    'room for another',
  )
  for (const client of clients) client.close()
  const again = await fill(connectSecurely)
  await expectTurnedAwaySecurely()
  for (const client of again) client.close()
})
