/** The form of a refusal, and the connection after it. */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const { upstream, send, connect } = await scene()
await send(claim('K', 9007199254740993n))

test('stale-token says who, what, and that the worker must stop', async () => {
  const answer = await send(claim('K', 9007199254740992n))
  expect(refusal(answer, 412, 'stale-token')).toEqual({
    type: expect.stringContaining('stale-token'),
    title: expect.any(String),
    status: 412,
    detail: expect.stringContaining('Stop'),
    code: 'stale-token',
    task: 'K',
    token: '9007199254740992',
    highest: '9007199254740993',
    sent: 'no',
    retry: 'never',
    error: { type: 'fencing_error', code: 'stale-token', message: expect.stringContaining('Stop') },
  })
  expect(answer.values('proxy-status').join()).toContain('error=http_request_denied')
  expect(answer.values('retry-after')).toEqual([])
})

test('token-required knows no task and no mark', async () => {
  const problem = refusal(await send({ method: 'PUT', body: '{}' }), 428, 'token-required')
  expect(problem).toMatchObject({ sent: 'no', retry: 'never' })
  expect(problem).not.toHaveProperty('highest')
})

test('after a refusal the connection is used again, or the refusal says that it is not', async () => {
  const client = await connect()
  refusal(await client.exchange(claim('K', 7, { body: 'short' })), 412, 'stale-token')
  refusal(await client.exchange(claim('K', 7, { body: undefined })), 412, 'stale-token')
  expect((await client.exchange(claim('K', 9007199254740993n))).status).toBe(200)
  const chunked = await client.exchange(claim('K', 7, { body: 'short', chunked: true }))
  refusal(chunked, 412, 'stale-token')
  if (chunked.values('connection').join() === 'close') expect(await client.ended()).toBe('fin')
  else expect((await client.exchange(claim('K', 9007199254740993n))).status).toBe(200)
  client.close()
})

test('a refusal comes before the body, and ends the connection if the body is long', async () => {
  const bytes = upstream.bytesReceived
  const client = await connect()
  await client.send('PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Task: K\r\nFencing-Token: 7\r\n')
  await client.send('Content-Length: 10000000000\r\n\r\nthe beginning')
  const answer = await client.answer()
  refusal(answer, 412, 'stale-token')
  expect(answer.values('connection')).toEqual(['close'])
  expect(await client.ended()).toBe('fin')
  expect(upstream.bytesReceived).toBe(bytes)
})

test('the rest of a refused body is never taken for a request', async () => {
  const inner =
    'PUT /smuggled HTTP/1.1\r\nHost: a\r\nFencing-Task: S\r\nFencing-Token: 1\r\nContent-Length: 0\r\n\r\n'
  const client = await connect()
  await client.send(
    `PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Task: K\r\nFencing-Token: 7\r\nContent-Length: ${inner.length}\r\n\r\n`,
  )
  await client.send(inner)
  refusal(await client.answer(), 412, 'stale-token')
  await client.exchange(claim('K', 9007199254740993n))
  expect(upstream.requests.map(({ target }) => target)).toEqual(['/x'])
  client.close()
})

test('a current write on a connection that carried a stale one, and the other way round', async () => {
  const client = await connect()
  expect((await client.exchange(claim('turns', 8))).status).toBe(200)
  expect((await send(claim('turns', 9))).status).toBe(200)
  refusal(await client.exchange(claim('turns', 8)), 412, 'stale-token')
  expect((await client.exchange(claim('turns', 9))).status).toBe(200)
  client.close()
})

test('a resource that is down: upstream-unreachable, not sent, and the mark is raised', async () => {
  const other = await Sidecar.start({ upstream: 'http://127.0.0.1:1' })
  const answer = await exchange(other.port, claim('down', 9))
  expect(refusal(answer, 502, 'upstream-unreachable')).toMatchObject({
    sent: 'no',
    retry: 'after',
    task: 'down',
  })
  expect(answer.values('retry-after')).toHaveLength(1)
  refusal(await exchange(other.port, claim('down', 8)), 412, 'stale-token')
})

test('revealHighest: false hides the mark; refusalHeaders are on the refusals of their route alone', async () => {
  const other = await Sidecar.start({
    upstream: upstream.url,
    config: {
      revealHighest: false,
      routes: [
        { name: 'charges', match: { path: '/charges' }, refusalHeaders: { 'Stripe-Should-Retry': 'false' } },
      ],
    },
  })
  const charge = (token: number, target: string) => exchange(other.port, claim('K', token, { target }))
  expect((await charge(9, '/charges')).values('stripe-should-retry')).toEqual([])
  const refused = await charge(8, '/charges')
  const problem = refusal(refused, 412, 'stale-token')
  expect(problem).not.toHaveProperty('highest')
  expect(JSON.stringify(problem)).not.toContain('9')
  expect(refused.values('stripe-should-retry')).toEqual(['false'])
  expect((await charge(8, '/other')).values('stripe-should-retry')).toEqual([])
  const unclaimed = await exchange(other.port, { target: '/charges', body: '' })
  expect(unclaimed.values('stripe-should-retry')).toEqual(['false'])
})
