/**
 * A TLS 1.2 client with a certificate of its own could shake hands anew on the same connection, show the settler's
 * name in a certificate of anybody's, and write the settler's tasks under the verdict on its first one. The handshake
 * that Node's client repeats shows the same certificate again: what counts is that there is no second one.
 */
import { once } from 'node:events'
import tls from 'node:tls'
import { expect, test } from 'vitest'
import { client, identityFiles, pemFile } from '../support/certificates.ts'
import { exchange } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const { sidecar, upstream } = await scene({
  tls: { ...identityFiles('server-1'), clientCa: pemFile('clients-ca'), clientCertificate: 'optional' },
  clients: [{ san: 'settler.pay.example', tasks: ['dns-'] }],
})
const anonymous = await Sidecar.start({
  upstream: upstream.url,
  config: { tls: identityFiles('server-1') },
})

/** How the server answers a client that asks for a second handshake; `undefined`: by having one. */
async function renegotiation(port: number, name?: string): Promise<string | undefined> {
  const socket = tls.connect({ ...client(name), host: '127.0.0.1', port, maxVersion: 'TLSv1.2' })
  await once(socket, 'secureConnect')
  const refused = once(socket, 'error').then(([error]) => (error as NodeJS.ErrnoException).code)
  const done = new Promise<undefined>((resolve) => socket.renegotiate({}, () => resolve(undefined)))
  return Promise.race([refused, done]).finally(() => socket.destroy())
}

test('no client gets a second handshake', async () => {
  expect(await renegotiation(sidecar.port, 'client-dns')).toBe('ERR_SSL_NO_RENEGOTIATION')
  expect(await renegotiation(anonymous.port)).toBe('ERR_SSL_NO_RENEGOTIATION')
})

test('and none after a reload of the certificates', async () => {
  const reload = await sidecar.reload({
    tls: { ...identityFiles('server-2'), clientCa: pemFile('clients-ca'), clientCertificate: 'optional' },
  })
  expect(reload.msg).toBe('a new configuration is in force')
  expect(await renegotiation(sidecar.port, 'client-dns')).toBe('ERR_SSL_NO_RENEGOTIATION')
})

test('who asks for one takes nobody else down', async () => {
  const answer = await exchange(sidecar.port, claim('dns-1', 1), undefined, client('client-dns'))
  expect(answer.status).toBe(200)
})
