/** Operations: one effect, however often and by whomever it is attempted. */
import { expect, test } from 'vitest'
import { exchange, type RawRequest } from '../support/raw-client.ts'
import { refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const ONCE = { guard: 'once', match: { path: '/v1/{task}/*' } }
const { upstream, send, sidecar, metric } = await scene({
  routes: [
    { name: 'charges', ...ONCE },
    { name: 'again', guard: 'once', match: { path: '/again/{task}/*' }, once: { repeatUnknown: 'send' } },
    { name: 'loose', guard: 'once', match: { path: '/loose/{task}/*' }, token: 'optional' },
    { name: 'derived', guard: 'once', match: { path: '/derived/{task}/*' }, once: { providerKey: 'derive' } },
    {
      name: 'held',
      guard: 'once',
      match: { path: '/held/{task}/*' },
      onUnknown: 'hold',
      once: { repeatUnknown: 'send' },
    },
  ],
})

const charge = (token: number, key: string, more: RawRequest = {}): RawRequest => ({
  method: 'POST',
  target: '/v1/k/charge',
  body: '{"amount":1}',
  ...more,
  headers: [['Fencing-Token', String(token)], ['Idempotency-Key', key], ...(more.headers ?? [])],
})
const PAID = {
  status: 201,
  headers: [
    ['Content-Type', 'application/json'],
    ['X-Other', '1'],
  ],
  body: '{"id":"ch_1"}',
} as const

test('an operation is sent once; every repeat gets its answer, and nothing is sent', async () => {
  upstream.answerOnce(PAID)
  const first = await send(charge(1, 'once'))
  expect([first.status, first.body.text, first.values('idempotent-replayed')]).toEqual([201, PAID.body, []])
  for (const token of [1, 1, 2]) {
    const again = await send(charge(token, 'once'))
    expect([again.status, again.body.text]).toEqual([201, PAID.body])
    expect(again.values('idempotent-replayed')).toEqual(['true'])
    expect([again.values('content-type'), again.values('x-other')]).toEqual([['application/json'], []])
  }
  expect(upstream.requests).toHaveLength(1)
  expect(upstream.last.values('idempotency-key')).toEqual(['once'])
  const stale = refusal(await send(charge(1, 'once')), 412, 'stale-token')
  expect(stale).toMatchObject({ operation: { state: 'done', status: 201 } })
  expect(await metric('fencegate_decisions_total', { decision: 'replayed' })).toBe(3)
})

test('a key is required, and another request with it is refused', async () => {
  const { headers, ...rest } = charge(2, 'x')
  refusal(await send({ ...rest, headers: headers?.slice(0, 1) ?? [] }), 400, 'operation-required')
  await send(charge(2, 'mine'))
  for (const other of [{ body: '{"amount":2}' }, { target: '/v1/k/other' }, { method: 'PUT' }]) {
    refusal(await send(charge(2, 'mine', other)), 422, 'operation-mismatch')
  }
  expect(upstream.requests).toHaveLength(1)
})

test('while an attempt is open, a repeat is told so', async () => {
  const held = upstream.hold()
  const first = send(charge(2, 'open'))
  await held.arrived
  const second = await send(charge(2, 'open'))
  refusal(second, 409, 'operation-in-progress')
  expect(second.values('retry-after')).toEqual(['1'])
  held.release()
  expect((await first).status).toBe(200)
  expect((await send(charge(2, 'open'))).values('idempotent-replayed')).toEqual(['true'])
  expect(upstream.requests).toHaveLength(1)
})

test('an answer that is not final lets the operation be attempted again, with the same key', async () => {
  upstream.answerOnce({ status: 503, body: 'later' })
  expect((await send(charge(2, 'busy'))).status).toBe(503)
  expect((await send(charge(2, 'busy'))).status).toBe(200)
  upstream.answerOnce({ status: 402, body: 'no money' })
  expect((await send(charge(2, 'poor'))).status).toBe(402)
  expect([(await send(charge(2, 'poor'))).status, upstream.requests.length]).toEqual([402, 3])
})

test('an unknown outcome holds the operation, or lets it be sent again with the same key', async () => {
  const lose = () =>
    upstream.once(async (exchange) => {
      await exchange.wholeBody()
      exchange.reset()
    })
  lose()
  refusal(await send(charge(2, 'lost')), 502, 'outcome-unknown')
  refusal(await send(charge(2, 'lost')), 409, 'operation-unknown')
  lose()
  const again = (token: number) => send(charge(token, '"lost"', { target: '/again/j/x' }))
  refusal(await again(1), 502, 'outcome-unknown')
  upstream.answerOnce({ status: 402 })
  expect((await again(2)).status).toBe(402)
  expect((await again(2)).status, 'only 2xx is final after an unknown attempt').toBe(200)
  expect((await again(2)).values('idempotent-replayed')).toEqual(['true'])
  expect(upstream.requests.map(({ values }) => values('idempotency-key'))).toEqual([
    ['lost'],
    ['"lost"'],
    ['"lost"'],
    ['"lost"'],
  ])
})

test('a repeat passes where its own unknown attempt holds the handover; others do not', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    exchange.reset()
  })
  const at = (token: number, key: string) => send(charge(token, key, { target: '/held/h/x' }))
  refusal(await at(1, 'first'), 502, 'outcome-unknown')
  refusal(await at(2, 'second'), 503, 'handover-held')
  expect((await at(2, 'first')).status).toBe(200)
  expect((await at(2, 'first')).values('idempotent-replayed')).toEqual(['true'])
  refusal(await at(2, 'second'), 503, 'handover-held')
})

test("a derived key is the same for every holder, and not the client's", async () => {
  upstream.answerOnce({ status: 500 })
  const at = (token: number) => send(charge(token, 'mine', { target: '/derived/d/x' }))
  await at(1)
  await at(2)
  const keys = upstream.requests.map(({ values }) => values('idempotency-key').join())
  expect(new Set(keys).size).toBe(1)
  expect(keys[0]).toMatch(/^fg-[0-9a-f]{48}$/)
})

test('a write without a token is sent once where that is allowed, waits for handovers, and is counted', async () => {
  const loose = (key: string, token?: number): RawRequest => ({
    method: 'POST',
    target: '/loose/l/x',
    body: '{}',
    headers: [['Idempotency-Key', key], ...(token ? ([['Fencing-Token', `${token}`]] as const) : [])],
  })
  expect((await send(loose('a'))).status).toBe(200)
  expect((await send(loose('a'))).values('idempotent-replayed')).toEqual(['true'])
  expect((await send(loose('a', 7))).values('idempotent-replayed')).toEqual(['true'])
  const held = upstream.hold()
  const open = send(loose('b'))
  await held.arrived
  const successor = send(loose('c', 8))
  await until(async () => (await metric('fencegate_handovers_pending')) === 1, 'the handover')
  held.release()
  expect([(await open).status, (await successor).status]).toEqual([200, 200])
  expect((await send(loose('d'))).status).toBe(200)
  expect(await metric('fencegate_unclaimed_writes_total', { route: 'loose' })).toBe(4)
})

test('what is known of an operation outlives the process', async () => {
  await send(charge(3, 'durable'))
  const held = upstream.hold()
  const lost = send(charge(3, 'cut')).catch(() => undefined)
  await held.arrived
  await sidecar.kill()
  await lost
  const after = await sidecar.restart()
  expect((await exchange(after.port, charge(3, 'durable'))).values('idempotent-replayed')).toEqual(['true'])
  refusal(await exchange(after.port, charge(3, 'cut')), 409, 'operation-unknown')
})
