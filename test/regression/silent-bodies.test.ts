/** A client that announces a body and sends none, or half of one, keeps nobody waiting, and not for ever. */
import { expect, test } from 'vitest'
import { encode, RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene({ upstream: { connections: 1 } })
const impatient = await Sidecar.start({
  upstream: upstream.url,
  config: { limits: { idleTimeout: '500ms' } },
})
const announced = (task: string, body: string) =>
  encode(claim(task, 1, { body, headers: [['Content-Length', '9']] }))
const openWrites = async (sidecar: Sidecar) => (await sidecar.metrics()).sum('fencegate_open_writes')

test('a body that does not begin holds no connection to the resource', async () => {
  const client = await connect()
  await client.send(announced('silent', ''))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the permit')
  expect((await send(claim('other', 1))).status).toBe(200)
  expect((await send({ method: 'GET' })).status).toBe(200)
  const unfenced = await connect()
  await unfenced.send('GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n')
  expect((await send(claim('other', 1))).status).toBe(200)
  client.close()
  unfenced.close()
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'its end')
})

test('a body that never begins: 408, nothing sent', async () => {
  const client = await RawClient.connect(impatient.port)
  await client.send(announced('never', ''))
  const problem = refusal(await client.answer(), 408, 'body-timeout')
  expect(problem).toMatchObject({ sent: 'no', task: 'never' })
  expect(upstream.requests).toEqual([])
  expect(await openWrites(impatient)).toBe(0)
  expect(await client.ended()).toBe('fin')
})

test('a body of an unfenced request that never begins: 408, nothing sent', async () => {
  const client = await RawClient.connect(impatient.port)
  await client.send('GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n')
  refusal(await client.answer(), 408, 'body-timeout')
  expect(upstream.requests).toEqual([])
  client.close()
})

test('clients that leave before their bodies leave no clock behind', async () => {
  const clients = [await RawClient.connect(impatient.port), await RawClient.connect(impatient.port)]
  await clients[0]?.send(announced('leaves', ''))
  await clients[1]?.send('GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n')
  await until(async () => (await openWrites(impatient)) === 1, 'the permit')
  for (const client of clients) client.close()
  await until(async () => (await openWrites(impatient)) === 0, 'its end')
  // Another body's whole time-out passes after theirs has begun.
  const last = await RawClient.connect(impatient.port)
  await last.send(announced('last', ''))
  refusal(await last.answer(), 408, 'body-timeout')
  expect(await openWrites(impatient)).toBe(0)
  last.close()
})

test('a body that waits for a connection to the resource is not silent', async () => {
  const crowded = await Sidecar.start({
    upstream: upstream.url,
    config: { upstream: { connections: 1 }, limits: { idleTimeout: '300ms' } },
  })
  const held = upstream.hold()
  const [first, second] = [await RawClient.connect(crowded.port), await RawClient.connect(crowded.port)]
  await first.send(encode(claim('first', 1)))
  await held.arrived
  await second.send(encode(claim('second', 1)))
  await until(async () => (await openWrites(crowded)) === 2, 'the second permit')
  const other = await RawClient.connect(crowded.port)
  await other.send(announced('third', ''))
  refusal(await other.answer(), 408, 'body-timeout')
  held.release()
  expect((await first.answer()).status).toBe(200)
  expect((await second.answer()).status).toBe(200)
  for (const client of [first, second, other]) client.close()
  expect(await crowded.stop()).toBe(0)
})

test('a body that stops midway: outcome-unknown', async () => {
  const client = await RawClient.connect(impatient.port)
  await client.send(announced('midway', 'ab'))
  const answer = await client.answer()
  refusal(answer, answer.status, 'outcome-unknown')
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'ended', 'the cut')
  expect(upstream.requests.map(({ body }) => body.text)).toEqual(['ab'])
  await until(async () => (await openWrites(impatient)) === 0, 'the record of its end')
  client.close()
})

test('a body whose bytes come slowly, each in time, is served', async () => {
  const client = await RawClient.connect(impatient.port)
  await client.send(announced('slow', ''))
  for (const [i, byte] of [...'123456789'].entries()) {
    await client.send(byte)
    await upstream.changes.when(() => upstream.requests[0]?.body.bytes === i + 1, `byte ${i}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  expect((await client.answer()).status).toBe(200)
  client.close()
})
