/**
 * The Stripe SDK's automatic retries through a route with `guard: once`: whatever happens on the way, the SDK ends
 * with the right object, and the provider has applied the payment once.
 */
import type Stripe from 'stripe'
import { beforeEach, expect, test } from 'vitest'
import { command, unknown } from '../support/operator.ts'
import type { Script } from '../support/recording-upstream.ts'
import type { Answer } from '../support/upstream-exchange.ts'
import { until } from '../support/wait.ts'
import { type Claim, FencingHttpClient } from './stripe-http-client.ts'
import { json, stripeError, stripeScene } from './stripe-scene.ts'

const { provider, sidecar, client, plain, decided } = await stripeScene({
  routes: [
    { name: 'refunds', guard: 'once', match: { path: '/v1/refunds' }, forwardClaim: false },
    {
      name: 'stripe',
      guard: 'once',
      match: { path: '/v1/*' },
      forwardClaim: false,
      once: { repeatUnknown: 'send' },
    },
  ],
})

/** What the provider has done, by the key that it was told: it knows its own repeats. */
const applied = new Map<string, Answer>()

const apply: Script = async (exchange) => {
  if (!(await exchange.wholeBody())) return
  const [key = ''] = exchange.request.values('idempotency-key')
  const known = applied.get(key)
  const object = { id: `pi_${applied.size + 1}`, object: 'payment_intent', amount: 4200 }
  const answer = known ?? json(200, object)
  applied.set(key, answer)
  const again = known ? ([['Idempotent-Replayed', 'true']] as const) : []
  await exchange.answer({ ...answer, headers: [...(answer.headers ?? []), ...again] })
}

/** Applies it, and loses the answer. */
const applyAndReset: Script = async (exchange) => {
  await exchange.wholeBody()
  const [key = ''] = exchange.request.values('idempotency-key')
  applied.set(key, json(200, { id: `pi_${applied.size + 1}`, object: 'payment_intent', amount: 4200 }))
  exchange.reset()
}

beforeEach(() => {
  applied.clear()
  provider.script = apply
})

const payment = { amount: 4200, currency: 'eur' }
let tasks = 0
const freshTask = () => `order-${++tasks}`
const holder = (task: string, token: number, config?: Stripe.StripeConfig) =>
  client(() => ({ task, token }), { maxNetworkRetries: 3, ...config }).paymentIntents
const sentKeys = () => provider.requests.map(({ values }) => values('idempotency-key').join())

test('the SDK’s own key: one payment, with its answer', async () => {
  const paid = await holder(freshTask(), 1).create(payment)
  expect([paid.id, applied.size, provider.requests.length]).toEqual(['pi_1', 1, 1])
  expect(sentKeys()).toEqual([expect.stringMatching(/^stripe-node-retry-/)])
  expect(paid.lastResponse.headers['idempotent-replayed']).toBeUndefined()
})

test('the next holder that repeats it gets the first one’s object, and nothing is sent', async () => {
  const task = freshTask()
  const options = { idempotencyKey: `${task}-charge` }
  const first = await holder(task, 1).create(payment, options)
  const again = await holder(task, 2).create(payment, options)
  expect(again).toEqual(first)
  expect(again.lastResponse.headers['idempotent-replayed']).toBe('true')
  expect(again.lastResponse.requestId).toBe(first.lastResponse.requestId)
  expect([applied.size, provider.requests.length]).toEqual([1, 1])
  await expect(holder(task, 1).create(payment, options)).rejects.toMatchObject({ code: 'stale-token' })
})

test.each([
  [500, stripeError(500, 'down')],
  [503, stripeError(503, 'busy')],
  [409, stripeError(409, 'locked')],
])('%i from the provider, twice: the SDK repeats it with the same key', async (_status, answer) => {
  provider.answerOnce(answer)
  provider.answerOnce(answer)
  expect(await holder(freshTask(), 1).create(payment)).toMatchObject({ id: 'pi_1' })
  expect([applied.size, provider.requests.length, new Set(sentKeys()).size]).toEqual([1, 3, 1])
})

test('an answer that is lost: the SDK’s repeat is answered by the provider from its own record', async () => {
  provider.once(applyAndReset)
  const task = freshTask()
  const paid = await holder(task, 1).create(payment)
  expect([paid.id, applied.size, provider.requests.length]).toEqual(['pi_1', 1, 2])
  expect(new Set(sentKeys()).size).toBe(1)
  expect(await unknown(sidecar)).toContainEqual(expect.objectContaining({ task, reason: 'connection-lost' }))
})

test('an answer that is lost, where repeats are held: the SDK ends with an error until somebody has looked', async () => {
  provider.once(applyAndReset)
  const task = freshTask()
  const options = { idempotencyKey: `${task}-refund` }
  const refund = () =>
    client(() => ({ task, token: 1 }), { maxNetworkRetries: 2 }).refunds.create(
      { payment_intent: 'pi_1' },
      options,
    )
  await expect(refund()).rejects.toMatchObject({ statusCode: 409, code: 'operation-unknown' })
  expect([applied.size, provider.requests.length]).toEqual([1, 1])
  const [record] = (await unknown(sidecar)).filter((write) => write.task === task)
  const found = ['--by', 'ops', '--reason', 'seen at the provider']
  await command(sidecar, 'resolve', record?.id as string, '--as', 'applied', ...found)
  await expect(refund()).rejects.toMatchObject({ statusCode: 409, code: 'operation-done' })
  expect([applied.size, provider.requests.length]).toEqual([1, 1])
})

test('while one attempt is open, the SDK waits as it is told, and gets the same object', async () => {
  const held = provider.hold()
  const task = freshTask()
  const options = { idempotencyKey: `${task}-charge` }
  const first = holder(task, 1).create(payment, options)
  await held.arrived
  const second = holder(task, 1).create(payment, options)
  await until(async () => (await decided('operation-in-progress')) > 0, 'a repeat that is told to wait')
  held.release(json(200, { id: 'pi_held', object: 'payment_intent' }))
  expect([(await first).id, (await second).id]).toEqual(['pi_held', 'pi_held'])
  expect((await second).lastResponse.headers['idempotent-replayed']).toBe('true')
  expect(provider.requests).toHaveLength(1)
})

test('an SDK that gives up waiting for the provider repeats it, and gets the one answer', async () => {
  const held = provider.hold()
  const paid = holder(freshTask(), 1, { timeout: 400 }).create(payment)
  await held.arrived
  await until(async () => (await decided('operation-in-progress')) > 1, 'the repeat')
  held.release(json(200, { id: 'pi_slow', object: 'payment_intent' }))
  expect(await paid).toMatchObject({ id: 'pi_slow' })
  expect(provider.requests).toHaveLength(1)
})

test('a declined card is final: each holder gets the SDK’s own error for it, and it is tried once', async () => {
  provider.answerOnce(
    json(402, { error: { type: 'card_error', code: 'card_declined', message: 'no money' } }),
  )
  const task = freshTask()
  const options = { idempotencyKey: `${task}-charge` }
  for (const token of [1, 2]) {
    await expect(holder(task, token).create(payment, options)).rejects.toMatchObject({
      ...{ type: 'StripeCardError', code: 'card_declined', statusCode: 402, message: 'no money' },
      requestId: 'req_stub',
    })
  }
  expect([applied.size, provider.requests.length]).toEqual([0, 1])
})

test('another request with a key that was used is an error, and is not sent', async () => {
  const task = freshTask()
  const options = { idempotencyKey: `${task}-charge` }
  await holder(task, 1).create(payment, options)
  const more = holder(task, 1).create({ ...payment, amount: 9900 }, options)
  await expect(more).rejects.toMatchObject({ statusCode: 422, code: 'operation-mismatch' })
  expect(provider.requests).toHaveLength(1)
})

test('what the SDK sends without a key is refused; reads need none', async () => {
  const claim: Claim = { task: freshTask(), token: 1 }
  const { customers, paymentIntents } = plain({ httpClient: new FencingHttpClient(() => claim) })
  await expect(customers.del('cus_1')).rejects.toMatchObject({ statusCode: 400, code: 'operation-required' })
  expect(await paymentIntents.retrieve('pi_1')).toMatchObject({ object: 'payment_intent' })
  expect(provider.requests.map(({ method }) => method)).toEqual(['GET'])
})
