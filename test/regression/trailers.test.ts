/** Request trailers can't be forwarded: they are refused before anything is sent, not dropped. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, send, metric } = await scene()

test('after an empty body', async () => {
  const request = claim('K', 1, { body: '', chunked: true, trailers: [['X-Sum', '1']] })
  expect(refusal(await send(request), 501, 'unsupported-trailer')).toMatchObject({ sent: 'no' })
  expect(upstream.requests).toEqual([])
  expect(await metric('fencegate_open_writes')).toBe(0)
})

test('after an empty body of a request that is not fenced', async () => {
  const request = { method: 'GET', body: '', chunked: true, trailers: [['X-Sum', '1'] as const] }
  refusal(await send(request), 501, 'unsupported-trailer')
  expect(upstream.requests).toEqual([])
})

test('announced by a fenced write', async () => {
  const request = claim('K', 1, {
    chunked: true,
    headers: [['Trailer', 'X-Sum']],
    trailers: [['X-Sum', '1']],
  })
  refusal(await send(request), 501, 'unsupported-trailer')
  expect(upstream.requests).toEqual([])
})

test('a token in the trailers', async () => {
  const request = claim('K', 1, { chunked: true, headers: [['Trailer', 'Fencing-Token']] })
  expect((await send(request)).status).toBe(400)
  expect(upstream.requests).toEqual([])
})
