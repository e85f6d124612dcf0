/** CASES 2: what `Connection` may name is dropped, and what a request can't do without it may not name. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send, metric } = await scene({ upstream: { host: 'preserve' } })

test.each([
  'close, Fencing-Token, authorization',
  'Authorization',
  'keep-alive,cookie',
  'Host',
  'If-Match',
  'if-none-match, x-hop',
  'If',
  'Range',
  'Content-Type',
  'content-encoding',
  'Content-Range',
  'Idempotency-Key',
  'Destination',
  'X-Forwarded-For',
  'X-HTTP-Method-Override',
])('Connection: %s: refused, nothing is sent', async (options) => {
  const [bytes, raises] = [upstream.bytesReceived, await metric('fencegate_raises_total')]
  for (const method of ['PUT', 'GET']) {
    const fields: HeaderPair[] = options
      .split(/, ?/)
      .filter((name) => !/^(close|keep-alive|fencing-token|host)$/i.test(name))
      .map((name) => [name, '1'])
    const request = claim('refused', 1, { method, headers: [['Connection', options], ...fields] })
    const answer = await send(request)
    refusal(answer, 400, 'malformed-request')
    expect(answer.values('connection')).toEqual(['close'])
  }
  expect(upstream.bytesReceived).toBe(bytes)
  expect(await metric('fencegate_raises_total')).toBe(raises)
})

test.each([
  'X-Hop',
  'x-hop , TE,, Keep-Alive',
  'content-length, X-HOP',
  'Transfer-Encoding, x-hop, connection',
])('Connection: %s: that field is dropped, every other one arrives', async (options) => {
  const kept: HeaderPair[] = [
    ['Authorization', 'Bearer x'],
    ['Content-Type', 'a/b'],
    ['X-Hopper', '1'],
    ['Proxy-Authorization', 'Basic x'],
  ]
  for (const [method, chunked] of [
    ['PUT', false],
    ['POST', true],
    ['GET', false],
  ] as const) {
    const headers = [['Connection', options], ['X-Hop', '1'], ...kept, ['x-hop', '2']] as const
    expect((await send(claim('K', 1, { method, headers, chunked }))).status).toBe(200)
    expect(upstream.last.body.text).toBe('{}')
    expect(upstream.last.values('x-hop')).toEqual([])
    expect(upstream.last.values('host')).toEqual(['sidecar.test'])
    for (const [name, value] of kept) expect(upstream.last.values(name)).toEqual([value])
  }
})

test('Connection fields of an answer', async () => {
  for (const method of ['PUT', 'GET']) {
    upstream.answerOnce({
      headers: [
        ['Connection', 'X-Hop, content-length'],
        ['connection', 'x-other,keep-alive'],
        ['X-Hop', '1'],
        ['X-Other', '1'],
        ['Keep-Alive', 'timeout=5, max=100'],
        ['Proxy-Connection', 'keep-alive'],
        ['Upgrade', 'h2,h2c'],
        ['Proxy-Authenticate', 'Basic'],
        ['X-End', '1'],
      ],
      body: 'mine',
    })
    const answer = await send(claim('K', 1, { method }))
    expect(answer.headers).toEqual([
      ['Proxy-Authenticate', 'Basic'],
      ['X-End', '1'],
      ['content-length', '4'],
      ['Connection', 'keep-alive'],
      ['Keep-Alive', expect.stringMatching(/^timeout=/)],
    ])
    expect(answer.body.text).toBe('mine')
  }
})

test('a 426 says what it is, and offers nothing that could not be had', async () => {
  upstream.answerOnce({
    status: 426,
    headers: [
      ['Upgrade', 'HTTP/2.0'],
      ['Connection', 'Upgrade'],
    ],
    body: 'no',
  })
  const answer = await send(claim('K', 1))
  expect([answer.status, answer.values('upgrade'), answer.body.text]).toEqual([426, [], 'no'])
})
