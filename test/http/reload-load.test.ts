/**
 * Twenty reloads under load: certificates, credential, resource, routes and rules change, and nobody notices: no request
 * fails, no connection ends, and what was open ends by the rules that it began with.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { client, identityFiles } from '../support/certificates.ts'
import { encode, RawClient } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim } from '../support/scene.ts'
import { type Settings, Sidecar, temporaryDirectory } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'
import { sha256 } from '../support/wire.ts'

const RELOADS = 20
const CLIENTS = 8

const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 })
await once(sockets, 'listening')
sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)))
const resources = await Promise.all([RecordingUpstream.start(), RecordingUpstream.start()])
afterAll(() => {
  sockets.close()
  return Promise.all(resources.map((resource) => resource.close()))
})

const directory = temporaryDirectory()
const live = `http://127.0.0.1:${(sockets.address() as { port: number }).port}`
/** The configuration after so many reloads. */
function settings(version: number): Settings {
  const file = path.join(directory, String(version % 2))
  fs.writeFileSync(file, `Bearer ${version}`)
  const odd = version % 2 === 1
  return {
    upstream: {
      url: resources[version % 2]?.url as string,
      auth: { file },
      keepAliveTimeout: '10m',
    },
    tls: identityFiles(odd ? 'server-2' : 'server-1'),
    reloadInterval: '0s',
    revealHighest: odd,
    routes: [
      {
        name: 'live',
        match: { path: '/live' },
        upstream: { url: live },
        ...(!odd && { upgrades: ['websocket'] }),
      },
      { name: `all-${version}`, handover: odd ? 'abort' : 'drain' },
    ],
  }
}

const sidecar = await Sidecar.start({ upstream: live, config: settings(0) })
const connect = () => RawClient.connect(sidecar.port, client())

/** Writes on one connection until told to stop. */
async function keepWriting(name: string, goOn: () => boolean): Promise<void> {
  const connection = await connect()
  const body = randomBytes(10_000)
  for (let i = 0; goOn(); i++) {
    // Every fifth raises, so that some raise while plans change.
    const token = 1 + Math.floor(i / 5)
    const answer = await connection.exchange(claim(name, token, { body, chunked: i % 2 === 0 }))
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body.text}`)
    written++
  }
  if (connection.reader.ended) throw new Error('a connection ended')
  connection.close()
}
let written = 0

test(`${RELOADS} reloads between the requests of ${CLIENTS} clients`, async () => {
  // Open all the time: a write whose answer is awaited, one whose body goes on, and a WebSocket.
  const held = resources[0]?.hold()
  const waiting = await connect()
  void waiting.send(encode(claim('waiting', 1)))
  await held?.arrived
  const uploading = await connect()
  const body = randomBytes(RELOADS * 1000)
  const upload = encode(claim('uploading', 1, { body }))
  const head = upload.length - body.length
  await uploading.send(upload.subarray(0, head + 10))
  const socket = new WebSocket(`wss://127.0.0.1:${sidecar.port}/live`, {
    ...client(),
    headers: { 'Fencing-Task': 'live', 'Fencing-Token': '1' },
  })
  await once(socket, 'open')

  let reloading = true
  const failures: unknown[] = []
  const goOn = () => reloading && failures.length === 0
  const writers = Array.from({ length: CLIENTS }, (_, i) =>
    keepWriting(`writer-${i}`, goOn).catch((error) => failures.push(error)),
  )
  for (let version = 1; version <= RELOADS; version++) {
    const before = written
    expect((await sidecar.reload(settings(version))).msg).toBe('a new configuration is in force')
    await uploading.send(upload.subarray(head + (version - 1) * 1000 + 10, head + version * 1000 + 10))
    const echo = once(socket, 'message')
    socket.send(`version ${version}`)
    expect(String((await echo)[0])).toBe(`version ${version}`)
    // A new connection is shown the new certificate, and its request takes the new way.
    const fresh = await connect()
    const certificate = (fresh.socket as TLSSocket).getPeerX509Certificate()
    expect(certificate?.subject).toBe(version % 2 === 1 ? 'CN=server-2' : 'CN=server-1')
    expect((await fresh.exchange(claim(`fresh-${version}`, 1))).status).toBe(200)
    const seen = resources[version % 2]?.requests.find(
      ({ values }) => values('fencing-task')[0] === `fresh-${version}`,
    )
    expect(seen?.values('authorization')).toEqual([`Bearer ${version}`])
    fresh.close()
    await until(() => written >= before + CLIENTS || !goOn(), 'writes under the new configuration')
    expect(failures).toEqual([])
  }
  reloading = false
  await Promise.all(writers)
  expect(failures).toEqual([])

  // It began under drain: a higher token waits for it, though the routes in force now could say abort.
  await sidecar.reload(settings(RELOADS + 1))
  const higher = await connect()
  void higher.send(encode(claim('waiting', 2)))
  await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'the handover')
  held?.release({ body: 'held' })
  expect((await waiting.answer()).body.text).toBe('held')
  expect((await higher.answer()).status).toBe(200)
  await uploading.send(upload.subarray(head + RELOADS * 1000 + 10))
  expect((await uploading.answer()).status).toBe(200)
  const uploaded = resources[0]?.requests.find(({ values }) => values('fencing-task')[0] === 'uploading')
  expect(uploaded?.body.sha256).toBe(sha256(body))
  const closed = once(socket, 'close')
  socket.close(1000)
  expect((await closed)[0]).toBe(1000)
  for (const connection of [waiting, uploading, higher]) connection.close()

  const metrics = await sidecar.metrics()
  expect(metrics.sum('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(0)
  expect(metrics.sum('fencegate_outcomes_total', { outcome: 'not-sent' })).toBe(0)
  await until(
    async () => (await sidecar.metrics()).sum('fencegate_open_writes') === 0,
    'the ends of all writes',
  )
  // Of the resources, only the one in force has connections.
  const open = () => resources.map(({ connections }) => connections.filter(({ ended }) => !ended).length)
  await until(() => open()[0] === 0, 'the old connections closed')
  expect(open()[1]).toBeGreaterThan(0)
  expect(resources.flatMap(({ faults }) => faults)).toEqual([])
  expect(await sidecar.stop()).toBe(0)
  expect(sidecar.logs.at(-1)).toMatchObject({ msg: 'stopped', clean: true })
})
