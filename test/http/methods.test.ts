/** CASES 9: whatever is not a listed read needs a current token, whoever calls it by whatever name. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send, connect } = await scene()
await send(claim('K', 9))

const WRITES = [
  'PUT',
  'POST',
  'PATCH',
  'DELETE',
  'COPY',
  'PROPPATCH',
  'MKCOL',
  'LOCK',
  'PURGE',
  'MERGE',
  'QUERY',
]

test.each(WRITES)('%s is fenced', async (method) => {
  refusal(await send({ method, body: '{}' }), 428, 'token-required')
  refusal(await send(claim('K', 7, { method })), 412, 'stale-token')
  expect(upstream.requests).toEqual([])
  expect((await send(claim('K', 9, { method }))).status).toBe(200)
  expect([upstream.last.method, upstream.last.body.text]).toEqual([method, '{}'])
})

test.each(['FROBNICATE', 'get', 'GETS', "X!#$%&'*+-.^_`|~9"])(
  '%s, which nobody knows, is fenced',
  async (method) => {
    expect((await send({ method, body: '{}' })).status).toBeGreaterThanOrEqual(400)
    expect((await send(claim('K', 7, { method }))).status).toBeGreaterThanOrEqual(400)
    expect(upstream.requests).toEqual([])
    const answer = await send(claim('K', 9, { method }))
    if (answer.status === 200) expect([upstream.last.method, upstream.last.body.text]).toEqual([method, '{}'])
    else expect([400, 501]).toContain(answer.status)
  },
)

test('an unknown method later on a connection, or in slices, never passes for another one', async () => {
  const client = await connect()
  expect((await client.exchange(claim('K', 9, { method: 'FROBNICATE' }))).status).toBe(200)
  expect((await client.exchange(claim('K', 9, { method: 'PUT' }))).status).toBe(200)
  refusal(await client.exchange(claim('K', 9, { method: 'FROBNICATE' })), 501, 'unsupported-method')
  await client.ended()
  expect(upstream.requests.map(({ method }) => method)).toEqual(['FROBNICATE', 'PUT'])

  const slices = await connect()
  for (const byte of encode(claim('K', 7, { method: 'FROBNICATE' }))) await slices.send(Buffer.from([byte]))
  // The system may join the slices, and a reset may overtake the answer: what counts is that nothing passes.
  const answer = await slices.answer().catch(() => undefined)
  if (answer) expect(answer.status).toBeGreaterThanOrEqual(400)
  expect(upstream.requests).toHaveLength(2)
  slices.close()
})

test.each(['X-HTTP-Method-Override', 'X-Method-Override', 'X-HTTP-Method'])(
  '%s makes a read a write',
  async (name) => {
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const headers: HeaderPair[] = [[name, 'DELETE']]
      const unclaimed = await send({ method, headers })
      expect(unclaimed.status).toBe(428)
      expect((await send(claim('K', 7, { method, headers, body: undefined }))).status).toBe(412)
      expect(upstream.requests).toEqual([])
      expect((await send(claim('K', 9, { method, headers, body: undefined }))).status).toBe(200)
      expect([upstream.last.method, upstream.last.values(name)]).toEqual([method, ['DELETE']])
      upstream.forget()
    }
  },
)

test.each(['GET', 'HEAD', 'OPTIONS'])('%s passes without a token, and with a stale one', async (method) => {
  expect((await send({ method })).status).toBe(200)
  expect((await send(claim('K', 7, { method, body: undefined }))).status).toBe(200)
  expect(upstream.requests.map((request) => request.method)).toEqual([method, method])
})
