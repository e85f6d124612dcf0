/** A sidecar that can't serve says why, what to do, and ends with the code for it; it never starts half. */
import { once } from 'node:events'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import {
  type Settings,
  Sidecar,
  SidecarProcess,
  serve,
  settings,
  temporaryDirectory,
} from '../support/sidecar.ts'
import { SCHEMA_2 } from '../support/store-schema-2.ts'
import { until } from '../support/wait.ts'

const { upstream } = await scene()
const taken = net.createServer().listen(0, '127.0.0.1')
await once(taken, 'listening')
afterAll(() => taken.close())
const takenAddress = `127.0.0.1:${(taken.address() as AddressInfo).port}`

/** Runs `serve` with what keeps it from starting; gives its message. */
async function refusedWith(exitCode: number, sidecar: SidecarProcess): Promise<string> {
  expect(await sidecar.exitCode(20_000)).toBe(exitCode)
  expect(sidecar.logs.filter(({ msg }) => msg === 'listening')).toEqual([])
  return sidecar.stderr
}
const start = (config: Settings, data = temporaryDirectory()) => serve(settings(upstream.url, data, config))

test.each<[string, (file: string) => void]>([
  ['is missing', () => {}],
  ['is a directory', (file) => fs.mkdirSync(file)],
  ['is no YAML', (file) => fs.writeFileSync(file, 'listen: [\n')],
  ['is a list', (file) => fs.writeFileSync(file, '- listen\n')],
])('a configuration that %s: 64, and its name', async (_, make) => {
  const file = path.join(temporaryDirectory(), 'fencegate.yaml')
  make(file)
  expect(await refusedWith(64, new SidecarProcess(['--config', file]))).toContain(file)
})

test('every fault of a configuration is named at once: 64', async () => {
  const message = await refusedWith(64, start({ handoverTimeout: 'soon', drainLimit: '-1s', colour: 'red' }))
  for (const word of ['handoverTimeout', 'drainLimit', 'colour']) expect(message).toContain(word)
})

test.each<[string, Settings]>([
  ['listen', { listen: takenAddress }],
  ['admin.listen', { admin: { listen: takenAddress } }],
])('%s in use: 69, and the address', async (key, config) => {
  const message = await refusedWith(69, start(config))
  expect(message).toContain(takenAddress)
  expect(message).toContain(key)
  expect(message).toContain('in use')
})

test('a start that fails at its port leaves a store that needs no grace', async () => {
  const data = temporaryDirectory()
  await refusedWith(69, start({ listen: takenAddress, restartGrace: '10m' }, data))
  const sidecar = await Sidecar.start({ upstream: upstream.url, config: { restartGrace: '10m' } }, data)
  expect((await exchange(sidecar.port, claim('K', 1))).status).toBe(200)
  expect(await sidecar.stop()).toBe(0)
})

test('a store of an older version is served, and the log says what was done to it and where it is as it was', async () => {
  const data = temporaryDirectory()
  const db = new DatabaseSync(path.join(data, 'marks.db'))
  db.exec(`BEGIN; ${SCHEMA_2}
    INSERT INTO meta VALUES (1, 1700000000000, 41, 1, 1, 7);
    INSERT INTO marks VALUES ('K', 9, 1, 'worker-1');
    COMMIT; PRAGMA journal_mode = WAL`)
  db.close()
  const sidecar = await Sidecar.start({ upstream: upstream.url }, data)
  const copy = path.join(data, 'marks.db.schema-2')
  const told = sidecar.logs.filter((line) => line.copy === copy)
  expect(told).toMatchObject([{ msg: expect.stringContaining('from schema 2') }])
  expect(fs.existsSync(copy)).toBe(true)
  expect((await exchange(sidecar.port, claim('K', 8))).status).toBe(412)
  expect(await sidecar.stop()).toBe(0)
})

test('a data directory below a file: 69, and its name', async () => {
  const file = path.join(temporaryDirectory(), 'file')
  fs.writeFileSync(file, '')
  const data = path.join(file, 'data')
  expect(await refusedWith(69, start({}, data))).toContain(data)
})

test('a data directory without rights: 69, and its name', async () => {
  const data = forbiddenDirectory()
  expect(await refusedWith(69, start({}, data))).toContain(data)
})

/** Root may write everywhere but in the kernel's own file systems. */
function forbiddenDirectory(): string {
  if (process.getuid?.() === 0) return '/sys/fencegate'
  const data = temporaryDirectory()
  fs.chmodSync(data, 0o500)
  return data
}

test('CASES 17: a store that is missing under create: never: 69, and how to go on', async () => {
  const sidecar = await Sidecar.start({ upstream: upstream.url })
  expect((await exchange(sidecar.port, claim('K', 9))).status).toBe(200)
  expect(await sidecar.stop()).toBe(0)
  const never = { store: { create: 'never' } }
  const kept = await sidecar.restart(never)
  refusal(await exchange(kept.port, claim('K', 8)), 412, 'stale-token')
  expect(await kept.stop()).toBe(0)

  fs.rmSync(sidecar.data, { recursive: true })
  fs.mkdirSync(sidecar.data)
  const message = await refusedWith(69, start(never, sidecar.data))
  for (const word of [sidecar.data, 'store.create', 'init', '--floor']) expect(message).toContain(word)
  expect(fs.readdirSync(sidecar.data)).not.toContain('marks.db')
})

test('CASES 17: a store that was rolled back shows it in the commit sequence', async () => {
  const sequence = async (sidecar: Sidecar) =>
    (await sidecar.metrics()).sum('fencegate_store_commit_sequence')
  const first = await Sidecar.start({ upstream: upstream.url })
  for (const token of [1, 2, 3]) await exchange(first.port, claim('K', token))
  expect(await sequence(first)).toBe(3)
  expect(await first.stop()).toBe(0)
  const file = path.join(first.data, 'marks.db')
  const backup = fs.readFileSync(file)

  const second = await first.restart()
  for (const token of [4, 5]) await exchange(second.port, claim('K', token))
  expect(await sequence(second)).toBe(5)
  expect(await second.stop()).toBe(0)

  fs.writeFileSync(file, backup)
  const rolledBack = await second.restart()
  expect(await sequence(rolledBack)).toBe(3)
  expect(await rolledBack.stop()).toBe(0)
})

test('CASES 13: while another process has the store, health answers, and the start waits or gives up', async () => {
  const first = await Sidecar.start({ upstream: upstream.url })
  const adminPort = await freePort()
  const waits = { admin: { listen: `127.0.0.1:${adminPort}` }, store: { lockWait: '1s' } }
  const health = async (target: string) => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}${target}`).catch(() => undefined)
    return answer?.status
  }
  const second = start(waits, first.data)
  await until(async () => (await health('/livez')) === 200, 'the admin port', 20_000)
  expect(await health('/readyz')).toBe(503)
  const message = await refusedWith(69, second)
  for (const word of [first.data, 'locked', 'store.lockWait']) expect(message).toContain(word)

  const third = start({ ...waits, store: { lockWait: '30s' } }, first.data)
  await until(async () => (await health('/readyz')) === 503, 'the admin port', 20_000)
  expect(await first.stop()).toBe(0)
  await until(async () => (await health('/readyz')) === 200, 'the start', 20_000)
  third.signal('SIGTERM')
  expect(await third.exitCode()).toBe(0)
})

test('SIGTERM during a start that waits ends it', async () => {
  const first = await Sidecar.start({ upstream: upstream.url })
  const adminPort = await freePort()
  const waiting = start(
    { admin: { listen: `127.0.0.1:${adminPort}` }, store: { lockWait: '60s' } },
    first.data,
  )
  const alive = () =>
    fetch(`http://127.0.0.1:${adminPort}/livez`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await until(alive, 'the admin port', 20_000)
  waiting.signal('SIGTERM')
  await waiting.exitCode(5000)
  expect((await exchange(first.port, claim('K', 1))).status).toBe(200)
})

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
