/** CASES 21: clients that vanish leave nothing behind: no open write, no socket, and an outcome each. */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, send, connect, metric } = await scene({
  upstream: { connections: 600, keepAliveTimeout: '500ms' },
})
const quiet = () => until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
const descriptors = () =>
  process.platform === 'linux' ? fs.readdirSync(`/proc/${sidecar.process.pid}/fd`).length : 0

test('500 clients vanish before the resource answers', async () => {
  await send(claim('warm', 1))
  const before = descriptors()
  upstream.forget()
  const { promise: goOn, resolve } = Promise.withResolvers<void>()
  upstream.script = async (exchange) => {
    await exchange.wholeBody()
    await goOn
    await exchange.answer()
  }
  const clients = await Promise.all(Array.from({ length: 500 }, () => connect()))
  for (const [i, client] of clients.entries()) void client.send(encode(claim(`gone-${i % 50}`, 1)))
  await upstream.received(500)
  for (const [i, client] of clients.entries()) i % 2 ? client.reset() : client.close()
  // Nobody's leaving has released a write or cut it at the resource.
  expect(await metric('fencegate_open_writes')).toBe(500)
  const used = new Set(upstream.requests.map(({ connection }) => connection))
  expect(upstream.connections.filter(({ id, ended }) => used.has(id) && ended)).toEqual([])
  resolve()
  await quiet()
  expect(await metric('fencegate_outcomes_total', { outcome: 'answered' })).toBe(501)
  await until(() => descriptors() <= before + 10, 'the sockets closed')
})

test('200 clients vanish within a chunked body', async () => {
  const before = descriptors()
  const clients = await Promise.all(Array.from({ length: 200 }, () => connect()))
  const part = Buffer.from('5\r\nhello\r\n')
  for (const [i, client] of clients.entries()) {
    const head = `PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Task: part-${i}\r\nFencing-Token: 1\r\n`
    void client.send(Buffer.concat([Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`), part]))
  }
  await upstream.changes.when(
    () => upstream.requests.filter(({ body }) => body.bytes === 5).length === 200,
    'the parts',
  )
  for (const client of clients) client.reset()
  await quiet()
  await upstream.changes.when(
    () => upstream.events.filter(({ what }) => what === 'ended').length >= 200,
    'the cuts',
  )
  expect(upstream.whole).toEqual([])
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(200)
  await until(() => descriptors() <= before + 10, 'the sockets closed')
  expect((await send(claim('part-0', 2))).status).toBe(200)
})

test('a client that vanishes within the answer: the resource can end it, and the outcome is known', async () => {
  const answered = await metric('fencegate_outcomes_total', { outcome: 'answered' })
  const body = Buffer.alloc(8 << 20, 'a long answer ')
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.answer({ body })
  })
  const client = await connect()
  client.reader.pause()
  void client.send(encode(claim('answer', 1)))
  await upstream.received(1)
  client.reset()
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'answered', 'the whole answer')
  await quiet()
  expect(await metric('fencegate_outcomes_total', { outcome: 'answered' })).toBe(answered + 1)
})
