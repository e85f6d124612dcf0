/** A resource that sends interim answers without end doesn't keep a task for ever. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, metric } = await scene()
const interim = (count: number) => 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(count)

test('more than 64: outcome-unknown, and the permit is released', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(interim(65))
    await exchange.gone()
  })
  const answer = await send(claim('K', 1))
  refusal(answer, 502, 'outcome-unknown')
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'the record of its end')
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(1)
  expect((await send(claim('K', 2))).status).toBe(200)
})

test('64 and an answer: passed on', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write(interim(64))
    await exchange.answer({ body: 'mine' })
  })
  const answer = await send(claim('K', 2))
  expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
})
