/** Bodies that come byte by byte: they may, until others wait for the connections to the resource that they hold. */
import { afterEach, expect, test } from 'vitest'
import { encode, type RawAnswer, type RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const CONNECTIONS = 4
const { upstream, send, connect, metric } = await scene({
  upstream: { connections: CONNECTIONS },
  // The pace is looked at once in so long: a client that is too slow has two of these.
  limits: { idleTimeout: '800ms', bodyRate: '1KiB' },
})
const openWrites = () => metric('fencegate_open_writes')

/** Clients with current tokens that send a byte of their bodies ten times a second. */
class Tricklers {
  readonly clients: RawClient[] = []
  readonly #timer = setInterval(() => {
    for (const { socket } of this.clients) if (socket.writable) socket.write('x')
  }, 100)

  async add(name: string, length: number): Promise<RawClient> {
    const client = await connect()
    this.clients.push(client)
    await client.send(encode(claim(name, 1, { body: 'x', headers: [['Content-Length', String(length)]] })))
    return client
  }

  stop(): void {
    clearInterval(this.#timer)
    for (const client of this.clients) client.close()
  }
}

let tricklers: Tricklers | undefined
afterEach(async () => {
  tricklers?.stop()
  await until(async () => (await openWrites()) === 0, 'the end of every write')
})

test('50 slow bodies and 4 connections: writes of others are served, and slow ones told why they are not', async () => {
  const slow = new Tricklers()
  tricklers = slow
  for (let i = 0; i < 50; i++) await slow.add(`slow-${i}`, 1e6)
  await until(async () => (await openWrites()) === 50, 'a permit for each')
  await upstream.heads(CONNECTIONS)
  const answers: RawAnswer[] = []
  for (const client of slow.clients)
    client.answer('PUT', 30_000).then(
      (answer) => answers.push(answer),
      () => {},
    )

  const honest = Array.from({ length: 20 }, (_, i) =>
    send(claim(`honest-${i}`, 1, { target: '/honest' }), 30_000),
  )
  for (const { status } of await Promise.all(honest)) expect(status).toBe(200)

  const cut = answers.filter(({ status }) => status === 502)
  const unsent = answers.filter(({ status }) => status === 408)
  expect(cut.length + unsent.length).toBe(answers.length)
  for (const answer of cut)
    expect(refusal(answer, 502, 'outcome-unknown').detail).toContain('limits.bodyRate')
  for (const answer of unsent) {
    expect(refusal(answer, 408, 'body-timeout')).toMatchObject({
      sent: 'no',
      task: expect.stringMatching(/^slow-/),
      detail: expect.stringContaining('limits.bodyRate'),
    })
  }
  expect(cut.length).toBeGreaterThanOrEqual(CONNECTIONS)
  // Those that had waited for a connection were found out before they got one.
  expect(unsent.length).toBeGreaterThan(cut.length)
  expect(upstream.requests.filter(({ target }) => target === '/x').length).toBeLessThan(50)
})

test('slow bodies that keep nobody waiting are served whole', async () => {
  const slow = new Tricklers()
  tricklers = slow
  const clients = []
  for (let i = 0; i < CONNECTIONS - 1; i++) clients.push(await slow.add(`patient-${i}`, 25))
  for (let i = 0; i < 10; i++) expect((await send(claim('honest', 1))).status).toBe(200)
  for (const client of clients) expect((await client.answer()).status).toBe(200)
})

test('a large body that waited for a connection, and then comes fast, is served', async () => {
  const slow = new Tricklers()
  tricklers = slow
  for (let i = 0; i < CONNECTIONS; i++) await slow.add(`first-${i}`, 1e6)
  await upstream.heads(CONNECTIONS)
  const large = Array.from({ length: 8 }, (_, i) =>
    send(claim(`large-${i}`, 1, { body: 'y'.repeat(1e6) }), 30_000),
  )
  for (const { status } of await Promise.all(large)) expect(status).toBe(200)
})
