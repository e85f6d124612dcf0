/** CASES 11: a resource that answers too late leaves the outcome unknown, and the same token may try again. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene({
  upstream: { headersTimeout: '500ms', bodyTimeout: '500ms' },
})

test('no answer in time: 504 outcome-unknown, and on record', async () => {
  const held = upstream.hold()
  const answer = await send(claim('K', 8))
  const problem = refusal(answer, 504, 'outcome-unknown')
  expect(problem).toMatchObject({ sent: 'unknown', retry: 'same-operation', task: 'K', token: '8' })
  await (await held.arrived).gone()
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(1)
  expect((await send(claim('K', 8))).status).toBe(200)
  expect(upstream.requests).toHaveLength(2)
})

test('an answer that stalls is cut', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
    await exchange.gone()
  })
  await expect(send(claim('K', 8))).rejects.toThrow('ended inside a body')
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(2)
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'the record of its end')
})

test('an answer that never ends is not read on for ever once its client has left', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
    const trickle = setInterval(() => exchange.write('x'), 50)
    await exchange.gone()
    clearInterval(trickle)
  })
  const client = await connect()
  await client.send(encode(claim('K', 8)))
  await client.head()
  client.close()
  await upstream.changes.when(() => upstream.events.at(-1)?.what === 'ended', 'the end at the upstream')
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(3)
})

test('a slow upload is no slow answer', async () => {
  const client = await connect()
  await client.send(encode(claim('K', 8, { body: 'a', headers: [['Content-Length', '5']] })))
  for (const byte of 'bcde') {
    await new Promise((resolve) => setTimeout(resolve, 200))
    await client.send(byte)
  }
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.text).toBe('abcde')
  client.close()
})
