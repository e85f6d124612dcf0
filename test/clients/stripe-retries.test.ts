/**
 * The Stripe SDK's automatic retries: each attempt has the same Idempotency-Key and is checked again, and none
 * goes on once the token is stale.
 */
import { expect, test } from 'vitest'
import { unknown } from '../support/operator.ts'
import { exchange } from '../support/raw-client.ts'
import { claim } from '../support/scene.ts'
import { until } from '../support/wait.ts'
import { json, stripeError, stripeScene } from './stripe-scene.ts'

const { provider, sidecar, client, decided } = await stripeScene()
const payment = { amount: 4200, currency: 'eur' }
const keys = () => provider.requests.map(({ values }) => values('idempotency-key')[0])

test.each([
  [500, stripeError(500, 'down')],
  [409, stripeError(409, 'locked')],
])('%i from the provider', async (status, answer) => {
  const before = await decided('forwarded')
  provider.answerOnce(answer)
  const stripe = client(() => ({ task: `status-${status}`, token: 8 }))
  expect(await stripe.paymentIntents.create(payment)).toMatchObject({ id: 'pi_1' })
  expect(keys()).toEqual(Array(2).fill(expect.stringMatching(/^stripe-node-retry-/)))
  expect(new Set(keys()).size).toBe(1)
  expect(await decided('forwarded')).toBe(before + 2)
})

test('the provider’s own word against a retry is passed on', async () => {
  provider.answerOnce(stripeError(500, 'final', [['Stripe-Should-Retry', 'false']]))
  const stripe = client(() => ({ task: 'final', token: 8 }))
  await expect(stripe.paymentIntents.create(payment)).rejects.toMatchObject({ message: 'final' })
  expect(provider.requests).toHaveLength(1)
})

test('a connection that the provider resets: the outcome is on record with its key, and the retry succeeds', async () => {
  provider.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reset()
  })
  const stripe = client(() => ({ task: 'reset', token: 8 }))
  const idempotencyKey = 'settle-2'
  expect(await stripe.paymentIntents.create(payment, { idempotencyKey })).toMatchObject({ id: 'pi_1' })
  expect(keys()).toEqual([idempotencyKey, idempotencyKey])
  expect(await unknown(sidecar)).toEqual([
    expect.objectContaining({ task: 'reset', token: '8', operation: idempotencyKey }),
  ])
})

test('a token that turns stale between two attempts ends them', async () => {
  let successor: Promise<unknown> | undefined
  provider.once(async (first) => {
    await first.wholeBody()
    successor = exchange(sidecar.port, claim('between', 9, { target: '/v1/successor' }))
    await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'a handover')
    await first.answer(stripeError(500, 'down'))
  })
  const stripe = client(() => ({ task: 'between', token: 8 }))
  await expect(stripe.paymentIntents.create(payment)).rejects.toMatchObject({
    statusCode: 412,
    code: 'stale-token',
    message: expect.stringContaining('Stop this work'),
  })
  await successor
  expect(provider.requests.map(({ target }) => target)).toEqual(['/v1/payment_intents', '/v1/successor'])
  expect(await decided('stale-token')).toBe(1)
})

test('a worker that takes the task over between two attempts retries with its new token', async () => {
  let token = 8
  provider.once(async (first) => {
    await first.wholeBody()
    token = 9
    await first.answer(json(503, {}))
  })
  const stripe = client(() => ({ task: 'renewed', token }))
  expect(await stripe.paymentIntents.create(payment)).toMatchObject({ id: 'pi_1' })
  expect(new Set(keys()).size).toBe(1)
  const stale = await exchange(sidecar.port, claim('renewed', 8, { target: '/v1/x' }))
  expect(stale.status).toBe(412)
})
