/** CASES 22: an upstream with an unknown certificate is refused, and the refusal names the option. */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const TLS = path.join(import.meta.dirname, '../support/tls')
const CA = path.join(TLS, 'cert.pem')
const identity = {
  key: fs.readFileSync(path.join(TLS, 'key.pem'), 'utf8'),
  cert: fs.readFileSync(CA, 'utf8'),
}
const upstream = await RecordingUpstream.start({ tls: identity })
afterAll(() => upstream.close())

test('refused without its CA, for writes and reads, even if the environment says otherwise', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const sidecar = await Sidecar.start({ upstream: upstream.url, env })
  for (const request of [claim('K', 1), { method: 'GET' }]) {
    const problem = refusal(await exchange(sidecar.port, request), 502, 'upstream-unreachable')
    expect(problem).toMatchObject({ sent: 'no', detail: expect.stringContaining('upstream.tls.ca') })
  }
  expect(upstream.requests).toEqual([])
})

test('served with its CA', async () => {
  const sidecar = await Sidecar.start({ upstream: upstream.url, config: { upstream: { tls: { ca: CA } } } })
  for (const method of ['PUT', 'GET']) {
    expect((await exchange(sidecar.port, claim('K', 1, { method }))).status).toBe(200)
    expect([upstream.last.method, upstream.last.body.text]).toEqual([method, '{}'])
  }
})

test('a preserved Host does not choose whose certificate is right', async () => {
  const config = { upstream: { host: 'preserve', tls: { ca: CA } } }
  const sidecar = await Sidecar.start({ upstream: upstream.url, config })
  for (const method of ['PUT', 'GET']) {
    const request = claim('K', 1, { method, headers: [['Host', 'ledger.example']] })
    expect((await exchange(sidecar.port, request)).status).toBe(200)
    expect(upstream.last.values('host')).toEqual(['ledger.example'])
  }
})
