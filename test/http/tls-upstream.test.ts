/** CASES 22: an upstream with an unknown certificate is refused, and the refusal names the option. */
import { afterAll, expect, test } from 'vitest'
import { pem, pemFile } from '../support/certificates.ts'
import { exchange } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const CA = pemFile('cert')
const upstream = await RecordingUpstream.start({ tls: { cert: pem('cert'), key: pem('key') } })
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

test('served with its CA among those of the system', async () => {
  const sidecar = await Sidecar.start({ upstream: upstream.url, env: { SSL_CERT_FILE: CA } })
  expect((await exchange(sidecar.port, claim('K', 1))).status).toBe(200)
})

test('a CA that is named takes the place of the system’s', async () => {
  const config = { upstream: { tls: { ca: pemFile('server-ca') } } }
  const sidecar = await Sidecar.start({ upstream: upstream.url, config, env: { SSL_CERT_FILE: CA } })
  refusal(await exchange(sidecar.port, claim('K', 1)), 502, 'upstream-unreachable')
})
