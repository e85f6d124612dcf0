/** `mode: observe`: everything is forwarded at once, marks are recorded, and what would be refused is counted. */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, send, connect, metric } = await scene({
  handoverTimeout: '300ms',
  routes: [{ name: 'watched', match: { path: '/w/*' }, mode: 'observe' }],
})
const target = '/w/1'
const counted = (decision: string, count: number) =>
  until(
    async () => (await metric('fencegate_decisions_total', { route: 'watched', decision })) === count,
    `${count} decisions ${decision}`,
  )

test('a stale write is forwarded and counted, and the mark holds on other routes', async () => {
  expect((await send(claim('K', 9, { target }))).status).toBe(200)
  await counted('forwarded', 1)
  expect((await send(claim('K', 8, { target, body: 'stale' }))).status).toBe(200)
  expect(upstream.last.body.text).toBe('stale')
  await counted('would-stale-token', 1)
  refusal(await send(claim('K', 8)), 412, 'stale-token')
  const warning = await sidecar.process.log(
    (line) => line.token === '8' && line.msg.includes('would'),
    'the line',
  )
  expect(warning).toMatchObject({ task: 'K', highest: '9' })
})

test('a write without a claim, or with a malformed one, is forwarded and counted', async () => {
  expect((await send({ target, body: 'free' })).status).toBe(200)
  expect(upstream.last.body.text).toBe('free')
  await counted('would-token-required', 1)
  const headers = [
    ['Fencing-Task', 'K'],
    ['Fencing-Token', '0x9'],
  ] as const
  expect((await send({ target, body: 'odd', headers })).status).toBe(200)
  expect(upstream.last.values('fencing-token')).toEqual(['0x9'])
  await counted('would-malformed-token', 1)
})

test('a higher token does not wait for a lower write, which is neither delayed nor cut', async () => {
  const forwarded = await metric('fencegate_decisions_total', { route: 'watched', decision: 'forwarded' })
  const held = upstream.hold()
  const low = send(claim('drain', 8, { target }))
  await held.arrived
  // The mark is recorded beside the write, not before it.
  await counted('forwarded', forwarded + 1)
  expect((await send(claim('drain', 9, { target }))).status).toBe(200)
  await counted('would-handover-pending', 1)
  held.release()
  expect((await low).status).toBe(200)
})

test('a body, its backpressure and 100-continue are as ever', async () => {
  const client = await connect()
  await client.send(`PUT ${target} HTTP/1.1\r\nHost: a\r\nFencing-Task: K\r\nFencing-Token: 1\r\n`)
  await client.send('Content-Length: 2\r\nExpect: 100-continue\r\n\r\n')
  expect((await client.head()).status).toBe(100)
  await client.send('ok')
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.text).toBe('ok')
  client.close()
})

test('marks recorded under observe are enforced after a restart without it', async () => {
  expect((await send(claim('later', 500, { target }))).status).toBe(200)
  await until(async () => (await send(claim('later', 499))).status === 412, 'the mark on record')
  expect(await sidecar.stop()).toBe(0)
  const enforcing = await sidecar.restart({ routes: [] })
  refusal(await exchange(enforcing.port, claim('later', 499, { target })), 412, 'stale-token')
  expect((await exchange(enforcing.port, claim('later', 500, { target }))).status).toBe(200)
})
