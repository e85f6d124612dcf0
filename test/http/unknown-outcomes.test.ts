/** Writes whose outcome nobody knows are durable records: what was sent, for whom, when, and why it isn't known. */
import { expect, test } from 'vitest'
import { command, fencegate, type ListedWrite, unknown } from '../support/operator.ts'
import { encode, exchange, type RawRequest } from '../support/raw-client.ts'
import type { Script } from '../support/recording-upstream.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, send, connect, metric } = await scene({
  upstream: { headersTimeout: '1s' },
  routes: [
    { name: 'pay', match: { path: '/pay/*' } },
    { name: 'accepted', match: { path: '/accepted/*' }, unknownStatuses: [202, 502] },
  ],
})
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const of = async (task: string) => (await unknown(sidecar)).filter((record) => record.task === task)
const unresolved = () => metric('fencegate_unresolved_outcomes')
const unknownOn = (route: string) => metric('fencegate_outcomes_total', { route, outcome: 'unknown' })
const pay = (task: string, request: RawRequest = {}) =>
  claim(task, 8, {
    method: 'POST',
    target: '/pay/1?amount=3',
    ...request,
    headers: [['Fencing-Holder', 'worker-a'], ['Idempotency-Key', 'op-1'], ...(request.headers ?? [])],
  })

async function expectRecord(task: string, since: number, fields: Partial<ListedWrite>) {
  await until(async () => (await of(task)).length === 1, `a record of ${task}`)
  const [record] = await of(task)
  expect(record).toEqual({
    id: expect.stringMatching(UUID),
    task,
    token: '8',
    holder: 'worker-a',
    holds: false,
    route: 'pay',
    method: 'POST',
    target: '/pay/1?amount=3',
    operation: 'op-1',
    admittedAtMs: expect.any(Number),
    endedAtMs: expect.any(Number),
    ...fields,
  })
  const { admittedAtMs, endedAtMs } = record as unknown as Record<string, number>
  expect(admittedAtMs).toBeGreaterThanOrEqual(since)
  expect(endedAtMs).toBeGreaterThanOrEqual(admittedAtMs as number)
  expect(endedAtMs).toBeLessThanOrEqual(Date.now())
}

test.each<[string, Script, number, object]>([
  [
    'reset',
    async (exchange) => {
      await exchange.wholeBody()
      exchange.reset()
    },
    502,
    { reason: 'connection-lost', bytesSent: 7 },
  ],
  ['timed-out', (exchange) => exchange.gone().then(() => {}), 504, { reason: 'timeout', bytesSent: 7 }],
])('a write that is %s', async (task, script, status, fields) => {
  const since = Date.now()
  const before = [await unresolved(), await unknownOn('pay')]
  upstream.once(script)
  refusal(await send(pay(task, { body: 'pay 100' })), status, 'outcome-unknown')
  await expectRecord(task, since, fields)
  expect([await unresolved(), await unknownOn('pay')]).toEqual(before.map((count) => count + 1))
})

test('a write whose client leaves within the body', async () => {
  const since = Date.now()
  const client = await connect()
  await client.send(encode(pay('left', { body: 'abcde', headers: [['Content-Length', '9']] })))
  await upstream.changes.when(() => upstream.requests[0]?.body.bytes === 5, 'the first bytes')
  client.reset()
  await expectRecord('left', since, { reason: 'client-left', bytesSent: 5 })
})

test('a write without body, holder or operation', async () => {
  upstream.once((exchange) => exchange.reset())
  refusal(await send(claim('bare', 8, { method: 'DELETE', body: undefined })), 502, 'outcome-unknown')
  const record = {
    id: expect.stringMatching(UUID),
    task: 'bare',
    token: '8',
    holds: false,
    route: 'default',
    method: 'DELETE',
    target: '/x',
    admittedAtMs: expect.any(Number),
    reason: 'connection-lost',
    bytesSent: 0,
    endedAtMs: expect.any(Number),
  }
  expect(await of('bare')).toEqual([record])
})

test.each([
  ['/pay/1', 502],
  ['/pay/1', 504],
  ['/accepted/1', 202],
  ['/accepted/1', 502],
])('%s answered with %i: passed on unchanged, and unknown', async (target, status) => {
  const task = `status${target}-${status}`
  const before = await unresolved()
  const answer = { status, reason: 'From Behind', headers: [['X-Hop', 'a'] as const], body: 'who knows' }
  upstream.answerOnce(answer)
  const { reason, headers, body } = await send(pay(task, { target }))
  expect({ status, reason, headers, body: body.text }).toEqual({
    ...answer,
    headers: [
      ['X-Hop', 'a'],
      ['content-length', '9'],
      ['Connection', 'keep-alive'],
      ['Keep-Alive', 'timeout=75'],
    ],
  })
  expect(await of(task)).toEqual([expect.objectContaining({ reason: 'status', token: '8', bytesSent: 2 })])
  expect(await unresolved()).toBe(before + 1)
  // On record, and let in.
  expect((await send(claim(task, 9, { target }))).status).toBe(200)
})

test.each([
  ['/pay/1', 202],
  ['/pay/1', 500],
  ['/pay/1', 503],
  ['/accepted/1', 504],
])('%s answered with %i: that is the outcome', async (target, status) => {
  upstream.answerOnce({ status, body: 'no' })
  expect((await send(pay(`told-${status}`, { target }))).status).toBe(status)
  expect(await of(`told-${status}`)).toEqual([])
})

test('what never left is not unknown: refused, or given up before its first byte', async () => {
  const before = await unresolved()
  refusal(await send(claim('reset', 7)), 412, 'stale-token')
  const client = await connect()
  await client.send(encode(pay('unbegun', { body: '', headers: [['Content-Length', '9']] })))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the permit')
  client.reset()
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'its end')
  expect(await unresolved()).toBe(before)
})

test('"unknown" lists them, oldest first, for people and for programs', async () => {
  const listed = await unknown(sidecar)
  expect(await command(sidecar, 'unknown')).toEqual(listed)
  expect(await command(sidecar, 'unknown', '--limit', '1')).toEqual(listed.slice(0, 1))
  const { code, stdout } = await fencegate('unknown', '--data', sidecar.data)
  expect(code).toBe(0)
  const [first] = listed as [ListedWrite]
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    `${first.id}  ${new Date(first.endedAtMs as number).toISOString()}  connection-lost`,
    '  task reset  token 8  holder worker-a',
    '  POST /pay/1?amount=3  route pay  operation op-1',
  ])
})

test('they survive kill -9, and the gauge with them', async () => {
  const before = await unknown(sidecar)
  await sidecar.kill()
  const next = await sidecar.restart()
  expect(await unknown(next)).toEqual(before)
  expect((await next.metrics()).sum('fencegate_unresolved_outcomes')).toBe(before.length)
  expect(await next.stop()).toBe(0)
})

test('records.hideQueryValues keeps values out of records, never out of requests', async () => {
  const hiding = await Sidecar.start({
    upstream: upstream.url,
    config: { records: { hideQueryValues: true } },
  })
  const target = '/pay/1?card=4111=1&empty=&flag&b=%3D'
  upstream.answerOnce({ status: 502 })
  expect((await exchange(hiding.port, pay('hidden', { target }))).status).toBe(502)
  expect(upstream.last.target).toBe(target)
  const [record] = await unknown(hiding)
  expect(record?.target).toBe('/pay/1?card=&empty=&flag&b=')
  expect(hiding.process.output).not.toContain('4111')
  expect(await hiding.stop()).toBe(0)
})
