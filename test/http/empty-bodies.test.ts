/** A request without a body has none at the resource, however either side says so. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { upstream, connect } = await scene()
const client = await connect()

const METHODS = [
  'PUT',
  'POST',
  'PATCH',
  'DELETE',
  'MKCOL',
  'COPY',
  'LOCK',
  'PROPFIND',
  'GET',
  'HEAD',
  'OPTIONS',
]
/** Methods that mean a body; others say nothing of a length. */
const EXPECT_ONE = ['PUT', 'POST', 'PATCH', 'PROPFIND']

test.each(METHODS)('%s', async (method) => {
  for (const [body, chunked] of [
    [undefined, false],
    ['', false],
    ['', true],
  ] as const) {
    upstream.once(async (exchange) => {
      expect(await exchange.wholeBody()).toBe(true)
      await exchange.answer({ framing: method === 'HEAD' ? 'none' : 'length' })
    })
    const answer = await client.exchange(claim('K', 1, { method, body, chunked }))
    expect(answer.status).toBe(200)
    expect([upstream.last.method, upstream.last.body.bytes]).toEqual([method, 0])
    expect(upstream.last.values('content-length')).toEqual(EXPECT_ONE.includes(method) ? ['0'] : [])
    expect(upstream.last.values('transfer-encoding')).toEqual([])
  }
  expect(upstream.faults).toEqual([])
})

test('one that expects 100 with nothing to send gets its answer at once', async () => {
  await client.send(encode(claim('K', 1, { headers: [['Expect', '100-continue']], body: '' })))
  const answer = await client.answer()
  expect([answer.status, answer.interim]).toEqual([200, []])
})
