/** `clientCertificate: required`: no handshake without one; and no session that would outlive a change of its CA. */
import type tls from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { client, identityFiles, pemFile } from '../support/certificates.ts'
import { exchange, RawClient } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const asking = (clientCa: string) => ({ ...identityFiles('server-1'), clientCa: pemFile(clientCa) })
const { sidecar, upstream } = await scene({
  tls: asking('clients-ca'),
  reloadInterval: '0s',
  log: { level: 'debug' },
})
const as = (options: tls.ConnectionOptions) => exchange(sidecar.port, claim('K', 1), undefined, options)

const versions = ['TLSv1.2', 'TLSv1.3'] as const

test.each(versions)('%s: with one of the right CA everything passes', async (maxVersion) => {
  expect((await as({ ...client('client-dns'), maxVersion })).status).toBe(200)
})

test.each(versions)('%s: without one, or with another CA’s, there is no connection', async (maxVersion) => {
  for (const name of [undefined, 'client-foreign']) {
    const failed = expect.objectContaining({ name: expect.stringMatching(/Error/) })
    await expect(as({ ...client(name), maxVersion })).rejects.toEqual(failed)
  }
  expect(upstream.requests).toEqual([])
  await sidecar.process.log(({ msg }) => msg === 'TLS handshake failed', 'a line for whoever looks for it')
})

/** The sessions that a connection is offered, after one request. */
async function sessions(options: tls.ConnectionOptions): Promise<Buffer[]> {
  const offered: Buffer[] = []
  const connection = await RawClient.connect(sidecar.port, options)
  connection.socket.on('session', (session: Buffer) => offered.push(session))
  expect((await connection.exchange(claim('K', 1))).status).toBe(200)
  const own = (connection.socket as TLSSocket).getSession()
  connection.close()
  return own === undefined ? offered : [...offered, own]
}

test.each(versions)('%s: no session is resumed, neither before a reload nor after', async (maxVersion) => {
  const options = { ...client('client-dns'), maxVersion }
  for (const certificate of ['server-2', 'server-1']) {
    for (const session of await sessions(options)) {
      const connection = await RawClient.connect(sidecar.port, { ...options, session })
      expect((connection.socket as TLSSocket).isSessionReused()).toBe(false)
      connection.close()
      await expect(as({ ...client(), maxVersion, session })).rejects.toThrow()
    }
    const line = await sidecar.reload({ tls: { ...asking('clients-ca'), ...identityFiles(certificate) } })
    expect(line.msg).toBe('a new configuration is in force')
  }
})

test.each(versions)(
  '%s: a CA that is no longer named lets nobody in, with a session or without',
  async (maxVersion) => {
    const options = { ...client('client-dns'), maxVersion }
    const offered = await sessions(options)
    const before = await RawClient.connect(sidecar.port, options)
    await sidecar.reload({ tls: asking('server-ca') })
    for (const session of [undefined, ...offered]) await expect(as({ ...options, session })).rejects.toThrow()
    // Who was in stays in.
    expect((await before.exchange(claim('K', 1))).status).toBe(200)
    before.close()
    await sidecar.reload({ tls: asking('clients-ca') })
    expect((await as(options)).status).toBe(200)
  },
)
