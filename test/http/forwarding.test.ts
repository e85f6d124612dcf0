/** P4: header fields reach the resource in order, in their case, with their duplicates and bytes. */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send } = await scene()
const FIELDS: HeaderPair[] = [
  ['X-One', '1'],
  ['x-two', 'a'],
  ['X-TWO', 'b'],
  ['Cookie', 'a=1'],
  ['Cookie', 'b=2'],
  ['accept', '*/*'],
  ['X-Latin', 'caf\xe9 \xff'],
  ['X-Empty', ''],
  ['X-Tab', 'a\tb'],
  ['User-Agent', 'agent/1'],
  ['User-Agent', 'agent/2'],
  ['Idempotency-Key', '"abc"'],
  ['X_Under_Score', '1'],
]

/** A request's fields but for Host and those that delimit the body. */
function endToEnd(headers: readonly HeaderPair[]): HeaderPair[] {
  const own = ['host', 'connection', 'content-length', 'transfer-encoding']
  return headers.filter(([name]) => !own.includes(name.toLowerCase()))
}

test.each(['PUT', 'POST', 'GET', 'DELETE'])(
  '%s: fields arrive as they were sent, and nothing is added',
  async (method) => {
    const request = claim('fields', 1, { method, headers: FIELDS })
    expect((await send(request)).status).toBe(200)
    expect(endToEnd(upstream.last.headers)).toEqual(request.headers)
    expect(upstream.last.values('host')).toEqual([upstream.authority])
    expect(upstream.last.body.text).toBe('{}')
  },
)

test('with forwardClaim: false the resource never sees the claim', async () => {
  const sidecar = await Sidecar.start({
    upstream: upstream.url,
    config: { routes: [{ name: 'all', forwardClaim: false }] },
  })
  for (const method of ['PUT', 'GET']) {
    const request = claim('fields', 1, { method, headers: [['Fencing-Holder', 'a'], ...FIELDS] })
    expect((await exchange(sidecar.port, request)).status).toBe(200)
    expect(endToEnd(upstream.last.headers)).toEqual(FIELDS)
  }
})

test('with host: preserve the resource sees the Host that the client sent', async () => {
  const config = { upstream: { host: 'preserve' } }
  const sidecar = await Sidecar.start({ upstream: upstream.url, config })
  for (const method of ['PUT', 'GET']) {
    await exchange(sidecar.port, claim('fields', 1, { method, headers: [['Host', 'Ledger.example:80']] }))
    expect(upstream.last.values('host')).toEqual(['Ledger.example:80'])
  }
})

test('forwarded fields and Via are added where the configuration says so', async () => {
  const config = { upstream: { forwardedHeaders: true, via: true } }
  const sidecar = await Sidecar.start({ upstream: upstream.url, config })
  for (const method of ['PUT', 'GET']) {
    await exchange(sidecar.port, claim('fields', 1, { method, headers: [['Host', 'a.example']] }))
    expect(upstream.last.values('x-forwarded-for').join()).toContain('127.0.0.1')
    expect(upstream.last.values('x-forwarded-host')).toEqual(['a.example'])
    expect(upstream.last.values('x-forwarded-proto')).toEqual(['http'])
    expect(upstream.last.values('via').join()).toMatch(/^1\.1 /)
  }
})
