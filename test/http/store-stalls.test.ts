/** CASES 13: a disk that hangs costs what needs it a quick 503, and nothing else anything. */
import { expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const commits = new Commits()
const { upstream, sidecar, send, metric } = await scene({ store: { timeout: '300ms' } }, commits.options)

test('raises get store-unavailable in time; equal tokens, reads and health go on', async () => {
  expect((await send(claim('K', 8))).status).toBe(200)
  commits.hold()
  const began = performance.now()
  const answer = await send(claim('K', 9))
  expect(performance.now() - began).toBeLessThan(2000)
  expect(refusal(answer, 503, 'store-unavailable')).toMatchObject({ sent: 'no', retry: 'after', task: 'K' })
  expect(answer.values('retry-after')).toHaveLength(1)
  refusal(await send(claim('new', 1)), 503, 'store-unavailable')
  expect((await send({ method: 'GET' })).status).toBe(200)
  expect((await sidecar.admin('/livez')).status).toBe(200)
  expect(await metric('fencegate_open_writes')).toBe(0)
  expect(upstream.requests.map(({ method }) => method)).toEqual(['PUT', 'GET'])

  commits.release()
  await until(async () => (await metric('fencegate_raises_total')) === 2, 'the raise on record')
  refusal(await send(claim('K', 8)), 412, 'stale-token')
  expect((await send(claim('K', 9))).status).toBe(200)
  expect((await send(claim('new', 1))).status).toBe(200)
})

test('a write waits for a commit that is only slow', async () => {
  commits.slow(150)
  expect((await send(claim('slow', 1))).status).toBe(200)
  commits.release()
})
