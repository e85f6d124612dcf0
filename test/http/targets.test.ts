/** CASES 8: the target goes to the configured resource byte for byte, or nowhere. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'

const { upstream, send, connect } = await scene()

test.each([
  '/',
  '//',
  '//x',
  '//10.0.0.1/x',
  '/a//b/',
  '/a%2Fb',
  '/%2e%2e/x',
  '/%41%zz%',
  '/a..b',
  '/..a/...',
  '/a/../b/./c',
  '/a;b=c,d',
  '/x?',
  '/x??a=b&a=../c&d=%2F',
  '/a!$&\'()*+|{}[]^`"<>',
  '/-_.~:@',
  '/\\host/x',
])('%s arrives as it was sent', async (target) => {
  for (const request of [claim('targets', 1, { target }), { method: 'GET', target }]) {
    expect((await send(request)).status).toBe(200)
    expect(upstream.last.target).toBe(target)
    expect(upstream.last.values('host')).toEqual([upstream.authority])
  }
})

test.each(['http://10.0.0.1/x', 'http://127.0.0.1:1/x', 'https://user@host/', '*', 'x', '10.0.0.1:80'])(
  '%s never goes to another host',
  async (target) => {
    for (const method of ['PUT', 'GET', 'OPTIONS']) {
      const answer = await send(claim('targets', 1, { method, target }))
      if (answer.status === 400) expect(upstream.requests).toEqual([])
      else expect([answer.status, upstream.last.target]).toEqual([200, target])
      upstream.forget()
    }
  },
)

test('CONNECT opens no tunnel', async () => {
  const client = await connect()
  await client.send('CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.ended()
  if (client.reader.received > 0) expect((await client.answer('CONNECT')).status).toBeGreaterThanOrEqual(400)
  expect(upstream.requests).toEqual([])
})
