/** CASES 2 and 5: what belongs to one connection stays there; everything else goes on as it was sent. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import { fieldValues } from '../support/wire.ts'

const { upstream, send } = await scene()
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'te',
  'upgrade',
  'http2-settings',

  'x-hop',
]

test('an upgrade to h2c is handled as HTTP/1.1, checked, with its body intact', async () => {
  const answer = await send(
    claim('K', 1, {
      method: 'POST',
      headers: [
        ['Connection', 'Upgrade, HTTP2-Settings'],
        ['Upgrade', 'h2c'],
        ['HTTP2-Settings', 'AAMAAABkAAQAoAAAAAIAAAAA'],
      ],
      body: 'intact',
    }),
  )
  expect(answer.status).toBe(200)
  expect(upstream.last.body.text).toBe('intact')
  for (const name of HOP_BY_HOP) expect(upstream.last.values(name)).toEqual([])
})

test('an upgrade with a stale token, or none, is refused', async () => {
  const headers = [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
  ] as const
  expect((await send(claim('stale', 9))).status).toBe(200)
  expect((await send(claim('stale', 7, { headers }))).status).toBe(412)
  expect((await send({ method: 'POST', headers })).status).toBe(428)
  expect(upstream.requests).toHaveLength(1)
})

test.each([['PUT'], ['GET']])('hop-by-hop fields of a %s go no further, the rest does', async (method) => {
  await send(
    claim('K', 1, {
      method,
      headers: [
        ['Connection', 'close, X-Hop'],
        ['X-Hop', '1'],
        ['Keep-Alive', 'timeout=5'],
        ['Proxy-Connection', 'keep-alive'],
        ['TE', 'trailers'],
        ['Upgrade', 'h2c'],
        ['Authorization', 'Bearer x'],
        ['X-End', '1'],
      ],
    }),
  )
  for (const name of HOP_BY_HOP) expect(upstream.last.values(name)).toEqual([])
  expect(upstream.last.values('authorization')).toEqual(['Bearer x'])
  expect(upstream.last.values('x-end')).toEqual(['1'])
})

test.each([['PUT'], ['GET']])('hop-by-hop fields of the answer to a %s go no further', async (method) => {
  upstream.answerOnce({
    headers: [
      ['Connection', 'X-Hop'],
      ['X-Hop', '1'],
      ['Keep-Alive', 'timeout=1'],
      ['X-End', '1'],
    ],
  })
  const answer = await send(claim('K', 1, { method, body: undefined }))
  expect(answer.status).toBe(200)
  expect(fieldValues(answer.headers, 'x-hop')).toEqual([])
  expect(answer.values('keep-alive')).not.toContain('timeout=1')
  expect(answer.values('x-end')).toEqual(['1'])
})
