/** Files that change are noticed: the configuration's own, and those that it names, however they are replaced. */
import fs from 'node:fs'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import { beforeEach, expect, test } from 'vitest'
import { client, pem } from '../support/certificates.ts'
import { exchange, RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { type LogLine, temporaryDirectory } from '../support/sidecar.ts'

const files = temporaryDirectory()
const at = (name: string) => path.join(files, name)
const write = (name: string, content: string) => fs.writeFileSync(at(name), content)
/** As `mv` does. */
const replace = (name: string, content: string) => {
  write(`${name}-next`, content)
  fs.renameSync(at(`${name}-next`), at(name))
}
write('cert.pem', pem('server-1'))
write('key.pem', pem('server-1-key'))
write('clients.pem', pem('clients-ca'))
write('credential', 'Bearer one')

const config = {
  tls: {
    cert: at('cert.pem'),
    key: at('key.pem'),
    clientCa: at('clients.pem'),
    clientCertificate: 'optional',
  },
  clients: [{ san: 'settler.pay.example', tasks: [''] }],
  upstream: { auth: { file: at('credential') } },
  reloadInterval: '30ms',
}
const { sidecar, upstream } = await scene(config)
const connect = () => RawClient.connect(sidecar.port, client('client-dns'))
const send = () => exchange(sidecar.port, claim('K', 1), undefined, client('client-dns'))
const shown = async () => {
  const connection = await connect()
  const certificate = (connection.socket as TLSSocket).getPeerX509Certificate()
  connection.close()
  return certificate?.subject
}

let seen = 0
beforeEach(() => {
  seen = sidecar.reloads.length
})
/** Resolves with the next reload that ended so. Others may come before it: a file is away while it is replaced. */
async function next(accept: (line: LogLine) => boolean, what: string): Promise<void> {
  const find = () => sidecar.reloads.findIndex((line, index) => index >= seen && accept(line))
  await sidecar.process.changes.when(() => find() >= 0, what)
  seen = find() + 1
  expect(sidecar.reloads.at(seen - 1)?.cause).toBe('a file has changed')
}
const inForce = (message = 'a new configuration is in force') => next(({ msg }) => msg === message, message)
const refused = (part: string) => next(({ message }) => String(message).includes(part), `a fault: ${part}`)

test('the configuration’s own file, written in place', async () => {
  sidecar.configure({ revealHighest: false })
  await inForce()
  await send()
  sidecar.configure({})
  await inForce()
})

test('a credential, replaced', async () => {
  replace('credential', 'Bearer two')
  await inForce()
  await send()
  expect(upstream.last.values('authorization')).toEqual(['Bearer two'])
})

test('a certificate and its key, one after the other: between them the old pair stays', async () => {
  const before = await connect()
  expect(await shown()).toBe('CN=server-1')
  replace('cert.pem', pem('server-2'))
  await refused('tls.key')
  expect(await shown()).toBe('CN=server-1')
  replace('key.pem', pem('server-2-key'))
  await inForce()
  expect(await shown()).toBe('CN=server-2')
  // Who was there stays, with what he was shown.
  expect((await before.exchange(claim('K', 1))).status).toBe(200)
  expect((before.socket as TLSSocket).getPeerX509Certificate()?.subject).toBe('CN=server-1')
  before.close()
})

test('a file that is damaged, then gone, then mended', async () => {
  write('clients.pem', 'no certificate')
  await refused('tls.clientCa')
  fs.rmSync(at('clients.pem'))
  await refused('ENOENT')
  expect((await send()).status).toBe(200)
  write('clients.pem', pem('clients-ca'))
  await inForce('the configuration is the one in force')
  expect((await sidecar.metrics()).sum('fencegate_config_last_reload_successful')).toBe(1)
})

test('a file that can’t be read', async () => {
  fs.rmSync(at('credential'))
  fs.mkdirSync(at('credential'))
  await refused('upstream.auth.file')
  await send()
  expect(upstream.last.values('authorization')).toEqual(['Bearer two'])
  fs.rmdirSync(at('credential'))
  write('credential', 'Bearer three')
  await inForce()
  await send()
  expect(upstream.last.values('authorization')).toEqual(['Bearer three'])
})

test('who is taken out of clients is refused from the next request on, on a connection that stays', async () => {
  const connection = await connect()
  expect((await connection.exchange(claim('K', 1))).status).toBe(200)
  sidecar.configure({ clients: [{ san: 'somebody.else', tasks: [''] }] })
  await inForce()
  refusal(await connection.exchange(claim('K', 1)), 403, 'task-not-allowed')
  sidecar.configure({ clients: [{ san: 'settler.pay.example', tasks: ['K'] }] })
  await inForce()
  expect((await connection.exchange(claim('K', 1))).status).toBe(200)
  connection.close()
})

/** As the kubelet does: each version a directory of its own, `..data` a link to the newest, files links through it. */
test('a volume whose link is turned over', async () => {
  const volume = path.dirname(sidecar.file)
  const name = path.basename(sidecar.file)
  const turnTo = (version: string, credential: string) => {
    fs.mkdirSync(path.join(volume, version))
    fs.writeFileSync(path.join(volume, version, 'credential'), credential)
    sidecar.configure({ upstream: { auth: { file: './credential' } } })
    fs.renameSync(path.join(volume, name), path.join(volume, version, name))
    fs.symlinkSync(version, path.join(volume, '..data_tmp'))
    fs.renameSync(path.join(volume, '..data_tmp'), path.join(volume, '..data'))
  }
  turnTo('..v1', 'Bearer v1')
  for (const file of [name, 'credential']) fs.symlinkSync(`..data/${file}`, path.join(volume, file))
  await inForce()
  await send()
  expect(upstream.last.values('authorization')).toEqual(['Bearer v1'])

  fs.mkdirSync(path.join(volume, '..v2'))
  fs.copyFileSync(path.join(volume, '..v1', name), path.join(volume, '..v2', name))
  fs.writeFileSync(path.join(volume, '..v2', 'credential'), 'Bearer v2')
  fs.symlinkSync('..v2', path.join(volume, '..data_tmp'))
  fs.renameSync(path.join(volume, '..data_tmp'), path.join(volume, '..data'))
  fs.rmSync(path.join(volume, '..v1'), { recursive: true })
  await inForce()
  await send()
  expect(upstream.last.values('authorization')).toEqual(['Bearer v2'])
})
