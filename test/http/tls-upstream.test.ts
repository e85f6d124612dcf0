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

test('refused without its CA, for writes and reads, even if the environment says otherwise; served with it', async () => {
  const sidecar = await Sidecar.start({
    upstream: upstream.url,
    config: { reloadInterval: '0s' },
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  })
  for (const request of [claim('K', 1), { method: 'GET' }]) {
    const problem = refusal(await exchange(sidecar.port, request), 502, 'upstream-unreachable')
    expect(problem).toMatchObject({ sent: 'no', detail: expect.stringContaining('upstream.tls.ca') })
  }
  expect(upstream.requests).toEqual([])
  // As whoever has read that does.
  await sidecar.reload({ upstream: { tls: { ca: CA } } })
  for (const request of [claim('K', 1), { method: 'GET' }]) {
    expect((await exchange(sidecar.port, request)).status).toBe(200)
  }
})

test('served with its CA among those of the system, whose place one takes that is named', async () => {
  const sidecar = await Sidecar.start({
    upstream: upstream.url,
    config: { reloadInterval: '0s' },
    env: { SSL_CERT_FILE: CA },
  })
  expect((await exchange(sidecar.port, claim('K', 1))).status).toBe(200)
  await sidecar.reload({ upstream: { tls: { ca: pemFile('server-ca') } } })
  refusal(await exchange(sidecar.port, claim('K', 1)), 502, 'upstream-unreachable')
})
