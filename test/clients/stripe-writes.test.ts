/** The Stripe SDK's requests through the sidecar, to a provider behind TLS: what arrives is what the SDK sent. */
import { expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { stripeScene } from './stripe-scene.ts'

const { provider, sidecar, client, plain, decided } = await stripeScene()
const payment = { amount: 4200, currency: 'eur', description: 'Zürich 100% + fee' }

test('a payment, claimed by the headers of one call', async () => {
  const headers = { 'Fencing-Task': 'call', 'Fencing-Token': '9' }
  const intent = await plain().paymentIntents.create(payment, { headers, idempotencyKey: 'settle-1' })
  expect(intent).toMatchObject({ id: 'pi_1', amount: 4200 })
  const { last } = provider
  expect([last.method, last.target]).toEqual(['POST', '/v1/payment_intents'])
  expect(Object.fromEntries(new URLSearchParams(last.body.text))).toEqual({ ...payment, amount: '4200' })
  expect(last.values('idempotency-key')).toEqual(['settle-1'])
  expect(last.values('authorization')).toEqual(['Bearer sk_test_fence'])
  expect(last.values('host')).toEqual([provider.authority])
})

test('forwardClaim: false: the provider sees nothing of the claim', async () => {
  const stripe = client(() => ({ task: 'hidden', token: 9, holder: 'worker-a' }))
  await stripe.charges.create(payment)
  const names = provider.last.headers.map(([name]) => name.toLowerCase())
  expect(names.filter((name) => name.startsWith('fencing-'))).toEqual([])
  expect(names).toContain('idempotency-key')
})

test('reads need no claim; a deletion does', async () => {
  expect(await plain().paymentIntents.retrieve('pi_1')).toMatchObject({ id: 'pi_1' })
  await client(() => ({ task: 'delete', token: 9 })).customers.del('cus_1')
  expect(provider.requests.map(({ method }) => method)).toEqual(['GET', 'DELETE'])
  await expect(client(() => ({ task: 'delete', token: 8 })).customers.del('cus_1')).rejects.toMatchObject({
    statusCode: 412,
    code: 'stale-token',
  })
  expect([provider.requests.length, await decided('stale-token')]).toEqual([2, 1])
})

test('an answer that is cut in its middle is an error, and the write is not repeated', async () => {
  provider.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id":')
    exchange.reset()
  })
  const stripe = client(() => ({ task: 'cut', token: 9 }))
  await expect(stripe.paymentIntents.create(payment)).rejects.toMatchObject({ type: 'StripeConnectionError' })
  expect(provider.requests).toHaveLength(1)
  const unresolved = async () => (await sidecar.metrics()).sum('fencegate_unresolved_outcomes')
  await until(async () => (await unresolved()) === 1, 'the record of the unknown outcome')
})
