/** The resource's credential: only the sidecar holds it, it goes to that resource alone, and is told to nobody. */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { fencegate } from '../support/operator.ts'
import { encode, exchange, RawClient, type RawRequest } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar, temporaryDirectory } from '../support/sidecar.ts'
import type { HeaderPair } from '../support/wire.ts'

const SECRET = 'Bearer s3cret-0123456789abcdef'
const KEY = 'k3y-0123456789abcdef'
const directory = temporaryDirectory()
const file = (name: string, content: string) => {
  fs.writeFileSync(path.join(directory, name), content)
  return path.join(directory, name)
}

const resource = await RecordingUpstream.start()
const other = await RecordingUpstream.start()
beforeEach(() => {
  resource.forget()
  other.forget()
})
afterAll(() => Promise.all([resource.close(), other.close()]))

const sidecar = await Sidecar.start({
  upstream: resource.url,
  config: {
    upstream: { auth: { file: file('credential', `${SECRET}\n`) }, connectTimeout: '1s' },
    log: { level: 'debug' },
    routes: [
      { name: 'other', match: { path: '/other' }, upstream: { url: other.url } },
      { name: 'gone', match: { path: '/gone' }, upstream: { url: 'http://127.0.0.1:1' } },
      { name: 'same', match: { path: '/same' }, upstream: { via: true }, upgrades: ['websocket'] },
      { name: 'observed', match: { path: '/observed' }, mode: 'observe' },
      { name: 'unguarded', match: { path: '/unguarded' }, guard: 'none' },
      {
        name: 'keyed',
        match: { path: '/keyed' },
        upstream: { url: other.url, auth: { header: 'X-Api-Key', file: file('key', KEY) } },
      },
    ],
  },
})
const send = (request: RawRequest) => exchange(sidecar.port, request)
const OWN: readonly HeaderPair[] = [
  ['Authorization', 'Bearer mine'],
  ['AUTHORIZATION', 'Basic mine'],
  ['X-Kept', 'kept'],
]

test.each<[string, RawRequest]>([
  ['a write', claim('K', 1, { headers: OWN })],
  ['a write without a field of its own', claim('K', 1)],
  ['a read', { method: 'GET', headers: OWN }],
  ['an unguarded write', { target: '/unguarded', headers: OWN, body: '{}' }],
  ['an observed write without a claim', { target: '/observed', headers: OWN, body: '{}' }],
  ['a route that changes other settings', claim('K', 1, { target: '/same', headers: OWN })],
  ['a method that nobody knows', claim('K', 1, { method: 'SETTLE', headers: OWN })],
])('%s carries it once, in place of what the client said', async (_, request) => {
  expect((await send(request)).status).toBe(200)
  expect(resource.last.values('authorization')).toEqual([SECRET])
  if (request.headers?.some(([name]) => name === 'X-Kept')) {
    expect(resource.last.values('x-kept')).toEqual(['kept'])
  }
})

test('an upgrade carries it', async () => {
  resource.once(async (upgrade) => {
    await upgrade.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
  })
  const client = await RawClient.connect(sidecar.port)
  const headers: readonly HeaderPair[] = [['Connection', 'Upgrade'], ['Upgrade', 'websocket'], ...OWN]
  void client.send(encode(claim('up', 1, { method: 'GET', target: '/same', headers, body: undefined })))
  expect((await client.head()).status).toBe(101)
  expect(resource.last.values('authorization')).toEqual([SECRET])
  client.close()
})

test('an announcement reaches nobody', async () => {
  const target = '/.well-known/fencegate/announce'
  expect((await send(claim('A', 1, { method: 'POST', target, headers: OWN, body: undefined }))).status).toBe(
    204,
  )
  expect(resource.requests).toEqual([])
})

test('another resource sees what the client said, and nothing of it', async () => {
  expect((await send(claim('K', 1, { target: '/other', headers: OWN }))).status).toBe(200)
  expect(other.last.values('authorization')).toEqual(['Bearer mine', 'Basic mine'])
  expect(JSON.stringify(other.last.headers)).not.toContain('s3cret')
})

test('another field is replaced with all that a resource could take for it', async () => {
  const headers: readonly HeaderPair[] = [
    ['X-API-Key', 'mine'],
    ['x_api_key', 'mine'],
    ['X-Api_Key', 'mine'],
    ['Authorization', 'Bearer mine'],
  ]
  for (const more of [[], [['Connection', 'x-api-key']]] as const) {
    const request = claim('K', 1, { target: '/keyed', headers: [...headers, ...more] })
    expect((await send(request)).status).toBe(200)
    expect(other.last.headers.filter(([name]) => /^x.api.key$/i.test(name))).toEqual([['x-api-key', KEY]])
    expect(other.last.values('authorization')).toEqual(['Bearer mine'])
  }
})

test.each(['TRACE', 'Trace'])('%s, whose answer would show it, does not carry it', async (method) => {
  expect((await send(claim('K', 1, { method, headers: OWN, body: undefined }))).status).toBe(200)
  expect([resource.last.method, resource.last.values('authorization')]).toEqual([method, []])
})

test('it is nowhere that anybody reads: not in refusals, logs, metrics, records or check-config', async () => {
  await send(claim('K', 9))
  const told = [
    refusal(await send(claim('K', 1, { headers: OWN })), 412, 'stale-token'),
    refusal(await send(claim('K', 9, { target: '/gone', headers: OWN })), 502, 'upstream-unreachable'),
  ]
  resource.once((held) => held.reset())
  told.push(refusal(await send(claim('K', 9, { headers: OWN })), 502, 'outcome-unknown'))
  const { code, stdout, stderr } = await fencegate('check-config', '--config', sidecar.file)
  expect(code).toBe(0)
  const { stdout: unknown } = await fencegate('unknown', '--data', sidecar.data, '--json')
  expect(unknown).toContain('connection-lost')
  const metrics = await (await sidecar.admin('/metrics')).text()
  const ready = await (await sidecar.admin('/readyz')).text()
  const all = [JSON.stringify(told), sidecar.process.output, stdout, stderr, unknown, metrics, ready].join(
    '\n',
  )
  for (const secret of [SECRET, 's3cret', KEY, 'mine']) expect(all).not.toContain(secret)
})

test('a new one that is faulty is refused without being shown; one that is right is used from the next request', async () => {
  for (const faulty of ['s3cret\nsecond', 's3cret-\u0000', '']) {
    file('credential', faulty)
    const line = await sidecar.reload()
    expect(line).toMatchObject({ level: 50, message: expect.stringContaining('upstream.auth.file') })
    await send(claim('K', 9))
    expect(resource.last.values('authorization')).toEqual([SECRET])
  }
  file('credential', 'Bearer next-s3cret')
  expect((await sidecar.reload()).level).toBe(30)
  await send(claim('K', 9))
  expect(resource.last.values('authorization')).toEqual(['Bearer next-s3cret'])
  expect(sidecar.process.output).not.toContain('s3cret')
})
