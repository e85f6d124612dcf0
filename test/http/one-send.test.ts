/** CASES 10: a write is sent at most once, whatever the connection does, and the client is told no guess. */
import { expect, test } from 'vitest'
import type { Script } from '../support/recording-upstream.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, send, metric } = await scene()
const post = (token = 1) => claim('once', token, { method: 'POST', body: 'pay 100' })

async function expectUnknown() {
  const answer = await send(post())
  const problem = refusal(answer, 502, 'outcome-unknown')
  expect(problem).toMatchObject({ sent: 'unknown', retry: 'same-operation', task: 'once', token: '1' })
  expect(answer.values('retry-after')).toEqual([])
}

test.each<[string, Script]>([
  ['resets at the head', (exchange) => exchange.reset()],
  [
    'reads it all, then resets',
    async (exchange) => {
      await exchange.wholeBody()
      exchange.reset()
    },
  ],
  [
    'reads it all, then closes',
    async (exchange) => {
      await exchange.wholeBody()
      exchange.close()
    },
  ],
  [
    'resets within the head of its answer',
    async (exchange) => {
      await exchange.wholeBody()
      await exchange.write('HTTP/1.1 200 OK\r\nConte')
      exchange.reset()
    },
  ],
  [
    'answers what is not HTTP',
    async (exchange) => {
      await exchange.wholeBody()
      await exchange.write('nonsense\r\n\r\n')
      await exchange.gone()
    },
  ],
])('a resource that %s', async (_, script) => {
  upstream.once(script)
  await expectUnknown()
  expect((await send(post())).status).toBe(200)
  expect(upstream.requests).toHaveLength(2)
})

test.each<[string, (connection: (typeof upstream.connections)[0]) => void]>([
  ['closed', ({ socket }) => socket.end()],
  ['destroyed', ({ socket }) => socket.destroy()],
  ['reset', ({ socket }) => socket.resetAndDestroy()],
])('an idle connection that is %s just as a write is written', async (_, end) => {
  expect((await send(post())).status).toBe(200)
  const { connection } = upstream.last
  upstream.forget()
  upstream.onFirstByte = (used) => {
    if (used.id === connection) end(used)
  }
  await expectUnknown()
  expect(upstream.requests.length).toBeLessThanOrEqual(1)
  expect(upstream.connections.at(-1)?.id).toBe(connection)
  upstream.forget()
  expect((await send(post())).status).toBe(200)
})

test('an idle connection that was closed before costs nothing', async () => {
  expect((await send(post())).status).toBe(200)
  const { connection } = upstream.last
  upstream.connections[connection]?.socket.end()
  await upstream.changes.when(() => upstream.connections[connection]?.ended !== undefined, 'the end of it')
  expect((await send(post())).status).toBe(200)
  expect(upstream.requests).toHaveLength(2)
})

test('an answer that is cut after its head was passed on is cut for the client', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
    exchange.reset()
  })
  await expect(send(post())).rejects.toThrow('ended inside a body')
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n')
    exchange.close()
  })
  await expect(send(post())).rejects.toThrow('ended inside')
  expect(upstream.requests).toHaveLength(2)
})

test('a 503 with Retry-After is an answer, and is not retried', async () => {
  upstream.answerOnce({ status: 503, reason: 'Busy', headers: [['Retry-After', '0']], body: 'later' })
  const answer = await send(post())
  expect([answer.status, answer.body.text, answer.values('proxy-status')]).toEqual([503, 'later', []])
  expect(upstream.requests).toHaveLength(1)
})

test('every write is on record with its outcome', async () => {
  const metrics = await sidecar.metrics()
  const writes = metrics.sum('fencegate_decisions_total', { decision: 'forwarded' })
  expect(metrics.sum('fencegate_outcomes_total')).toBe(writes)
  expect(metrics.sum('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(10)
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
})
