/** What is not fenced passes through: once, unchanged, and with clear answers where the resource fails. */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { refusal, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const { upstream, sidecar, send } = await scene({ upstream: { headersTimeout: '500ms' } })

test('a GET with a body arrives whole', async () => {
  const body = '{"query":{"match_all":{}}}'
  for (const chunked of [false, true]) {
    const headers = [['Content-Type', 'application/json']] as const
    const answer = await send({ method: 'GET', target: '/_search?size=1', headers, body, chunked })
    expect(answer.status).toBe(200)
    expect([upstream.last.target, upstream.last.body.text]).toEqual(['/_search?size=1', body])
  }
})

test('a GET without a body has none at the resource', async () => {
  await send({ method: 'GET' })
  expect(upstream.last.body.bytes).toBe(0)
  expect(upstream.last.values('content-length')).toEqual([])
  expect(upstream.last.values('transfer-encoding')).toEqual([])
})

test.each([503, 429, 502])('a %i with Retry-After is passed on, not retried', async (status) => {
  upstream.script = async (read) => {
    await read.wholeBody()
    await read.answer({ status, reason: 'Later', headers: [['Retry-After', '0']], body: 'busy' })
  }
  const answer = await send({ method: 'GET' })
  expect([answer.status, answer.values('retry-after'), answer.body.text]).toEqual([status, ['0'], 'busy'])
  expect(upstream.requests).toHaveLength(1)
})

test.each(['GET', 'HEAD', 'OPTIONS'])('a %s whose connection is reset is not sent again', async (method) => {
  await send({ method: 'GET' })
  upstream.forget()
  upstream.script = (read) => read.reset()
  const answer = await send({ method })
  expect(answer.status).toBe(502)
  expect(answer.values('proxy-status').join()).toContain('fencegate')
  expect(upstream.requests).toHaveLength(1)
})

test('a GET that is never answered: 504', async () => {
  upstream.script = (read) => read.gone()
  const answer = await send({ method: 'GET' })
  expect(answer.status).toBe(504)
  expect(upstream.requests).toHaveLength(1)
})

test('an answer that is cut is cut for the client as well', async () => {
  upstream.script = async (read) => {
    await read.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
    read.reset()
  }
  await expect(send({ method: 'GET' })).rejects.toThrow('ended inside a body')
  expect(upstream.requests).toHaveLength(1)
})

test('a resource that is down: 502, and 200 as soon as it is up', async () => {
  const down = await RecordingUpstream.start()
  const { port, url } = down
  await down.close()
  const other = await Sidecar.start({ upstream: url })
  refusal(await exchange(other.port, { method: 'GET' }), 502, 'upstream-unreachable')
  const up = await RecordingUpstream.start()
  await up.close()
  await up.listen(port)
  expect((await exchange(other.port, { method: 'GET' })).status).toBe(200)
  await up.close()
})

test('a route with guard: none lets writes pass without a claim', async () => {
  const other = await Sidecar.start({
    upstream: upstream.url,
    config: { routes: [{ name: 'open', match: { path: '/open/*' }, guard: 'none' }] },
  })
  const answer = await exchange(other.port, { method: 'POST', target: '/open/a%2Fb', body: 'free' })
  expect(answer.status).toBe(200)
  expect([upstream.last.method, upstream.last.target, upstream.last.body.text]).toEqual([
    'POST',
    '/open/a%2Fb',
    'free',
  ])
  expect((await exchange(other.port, { method: 'FROBNICATE', target: '/open/x' })).status).toBe(200)
  expect(upstream.last.method).toBe('FROBNICATE')
  refusal(await exchange(other.port, { method: 'POST', target: '/closed', body: '' }), 428, 'token-required')
})

test('a client that leaves a read ends it at the resource', async () => {
  const held = upstream.hold()
  const reading = exchange(sidecar.port, { method: 'GET' }, 300)
  const arrived = held.arrived
  await expect(reading).rejects.toThrow('not within')
  await (await arrived).gone()
})
