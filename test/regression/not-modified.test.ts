/** A 304 that says how long the representation is goes through, and spoils nothing for those after it. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'

const { upstream, connect, metric } = await scene({
  routes: [{ name: 'reads', match: { methods: ['GET', 'PUT'], path: '/fenced/*' } }],
})

test.each([
  ['GET', '/x'],
  ['GET', '/fenced/x'],
  ['PUT', '/x'],
])('to %s %s', async (method, target) => {
  const client = await connect()
  const request = claim('K', 1, { method, target, body: method === 'PUT' ? '{}' : undefined })
  for (let round = 0; round < 3; round++) {
    upstream.answerOnce({
      status: 304,
      reason: 'Not Modified',
      framing: 'none',
      headers: [
        ['ETag', '"v1"'],
        ['Content-Length', '42'],
      ],
    })
    const answer = await client.exchange(request)
    expect([answer.status, answer.values('etag')]).toEqual([304, ['"v1"']])
    const next = await client.exchange(request)
    expect(next.status).toBe(200)
  }
  client.close()
  expect(await metric('fencegate_open_writes')).toBe(0)
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(0)
})
