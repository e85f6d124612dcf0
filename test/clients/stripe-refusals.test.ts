/**
 * Refusals under the Stripe SDK on a route that tells it not to retry any: each is made once, the provider sees
 * nothing of it, and the SDK's error says why.
 */
import type Stripe from 'stripe'
import { expect, test } from 'vitest'
import { type StripeScene, stripeScene } from './stripe-scene.ts'

const firm = await stripeScene(
  { handoverTimeout: '200ms' },
  { refusalHeaders: { 'stripe-should-retry': 'false' } },
)
const silent = await stripeScene()
/** As the SDK does by itself, said here because the counts below depend on it. */
const RETRYING: Stripe.StripeConfig = { maxNetworkRetries: 2 }
const payment = { amount: 4200, currency: 'eur' }
const pay = (scene: StripeScene, task: string, token: number, holder = 'worker-a') =>
  scene.client(() => ({ task, token, holder }), RETRYING).paymentIntents.create(payment)

const refused = (statusCode: number, code: string) => ({
  type: 'StripeAPIError',
  statusCode,
  code,
  message: expect.any(String),
  raw: { problem: expect.objectContaining({ status: statusCode, code, title: expect.any(String) }) },
})

test.each([
  ['with', firm],
  ['without', silent],
])('stale, %s the field that forbids a retry: refused once', async (_how, scene) => {
  await pay(scene, 'stale', 9)
  scene.provider.forget()
  await expect(pay(scene, 'stale', 8)).rejects.toMatchObject({
    ...refused(412, 'stale-token'),
    message: expect.stringContaining('Stop this work'),
    headers: { 'proxy-status': expect.stringContaining('details="stale-token"') },
  })
  expect([await scene.decided('stale-token'), scene.provider.requests.length]).toEqual([1, 0])
})

test('a token that another holder has used: a 409, which the SDK would retry', async () => {
  for (const [scene, attempts] of [
    [firm, 1],
    [silent, 3],
  ] as const) {
    await pay(scene, 'conflict', 9)
    await expect(pay(scene, 'conflict', 9, 'worker-b')).rejects.toMatchObject(refused(409, 'token-conflict'))
    expect([await scene.decided('token-conflict'), scene.provider.requests.length]).toEqual([attempts, 1])
  }
})

test('an unknown outcome is not retried, and says that it is one', async () => {
  firm.provider.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reset()
  })
  await expect(pay(firm, 'unknown', 9)).rejects.toMatchObject(refused(502, 'outcome-unknown'))
  expect(firm.provider.requests).toHaveLength(1)
})

test('a handover that takes too long is not retried either: the field goes with every refusal', async () => {
  const held = firm.provider.hold()
  const lower = pay(firm, 'pending', 8)
  await held.arrived
  await expect(pay(firm, 'pending', 9)).rejects.toMatchObject(refused(503, 'handover-pending'))
  expect(await firm.decided('handover-pending')).toBe(1)
  held.release({ body: '{}' })
  await lower
})

test('the SDK as it comes, which adds the claim by its own headers, takes no refusal for a success', async () => {
  const headers = (token: string) => ({ headers: { 'Fencing-Task': 'plain', 'Fencing-Token': token } })
  const { paymentIntents } = firm.plain()
  await paymentIntents.create(payment, headers('9'))
  for (const [options, statusCode, code] of [
    [headers('8'), 412, 'stale-token'],
    [{}, 428, 'token-required'],
  ] as const) {
    await expect(paymentIntents.create(payment, options)).rejects.toMatchObject({
      statusCode,
      code,
      message: expect.stringContaining('othing was sent'),
    })
  }
  expect(firm.provider.requests).toHaveLength(1)
})
