/** An answer without a length that ends with a reset is no whole answer, and doesn't become one on the way. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, connect, metric } = await scene()

test.each([
  ['PUT', '1.1'],
  ['GET', '1.1'],
  ['PUT', '1.0'],
])('%s, by HTTP/%s', async (method, version) => {
  const { promise: seen, resolve: reset } = Promise.withResolvers<void>()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(`HTTP/${version} 200 OK\r\nContent-Type: text/plain\r\n\r\nhalf of it`)
    await seen
    exchange.reset()
  })
  const unknown = await metric('fencegate_outcomes_total', { outcome: 'unknown' })
  const client = await connect()
  await client.send(encode(claim('K', 1, { method })))
  const answer = client.answer(method)
  answer.catch(() => {})
  await until(() => client.reader.received > 0, 'the first half')
  reset()
  await expect(answer).rejects.toThrow('ended inside')
  if (method === 'PUT') {
    expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(unknown + 1)
  }
})

test('one that ends in order is whole', async () => {
  const client = await connect()
  upstream.answerOnce({ framing: 'until-close', body: 'all of it' })
  expect((await client.exchange(claim('K', 1))).body.text).toBe('all of it')
  client.close()
})
