/** A new configuration on SIGHUP: what changes, what stays, and what a faulty one does. */
import fs from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const IN_FORCE = 'a new configuration is in force'
const { sidecar, upstream, send, connect, metric } = await scene({ reloadInterval: '0s' })
const other = await RecordingUpstream.start()
afterAll(() => other.close())
const successful = () => metric('fencegate_config_last_reload_successful')

test('routes, upstreams and what refusals say change for the next request, on a connection that stays', async () => {
  const connection = await connect()
  expect((await connection.exchange(claim('K', 5))).status).toBe(200)
  expect(refusal(await connection.exchange(claim('K', 4)), 412, 'stale-token').highest).toBe('5')
  expect((await connection.exchange({ method: 'PUT', target: '/free' })).status).toBe(428)

  const line = await sidecar.reload({
    upstream: { url: other.url },
    revealHighest: false,
    routes: [{ name: 'free', match: { path: '/free' }, guard: 'none' }],
  })
  expect(line).toMatchObject({ msg: IN_FORCE, cause: 'SIGHUP', level: 30 })
  expect((await connection.exchange(claim('K', 5))).status).toBe(200)
  expect(other.whole).toHaveLength(1)
  expect((await connection.exchange({ method: 'PUT', target: '/free' })).status).toBe(200)
  expect(other.last.target).toBe('/free')
  // The marks are those from before.
  expect(refusal(await connection.exchange(claim('K', 4)), 412, 'stale-token').highest).toBeUndefined()
  expect(await (await sidecar.admin('/readyz')).json()).toMatchObject({ upstreams: [{ origin: other.url }] })

  await sidecar.reload({})
  expect((await connection.exchange({ method: 'PUT', target: '/free' })).status).toBe(428)
  connection.close()
})

test('the same again is no change', async () => {
  expect((await sidecar.reload({})).msg).toBe('the configuration is the one in force')
  expect(await successful()).toBe(1)
})

test('every fault is told, the configuration in force stays, and the metric says so until it is mended', async () => {
  const faulty = await sidecar.reload({
    revealHighest: 'perhaps',
    upstream: { auth: { file: './nowhere' }, connections: 0 },
    routes: [{ name: 'a b' }],
  })
  expect(faulty.level).toBe(50)
  for (const part of [
    '4 faults',
    'revealHighest',
    'upstream.auth.file',
    'upstream.connections',
    'routes[0].name',
  ]) {
    expect(faulty.message).toContain(part)
  }
  expect(await successful()).toBe(0)
  expect((await send(claim('K', 5))).status).toBe(200)
  expect((await sidecar.reload({})).level).toBe(30)
  expect(await successful()).toBe(1)
})

test.each([
  ['not YAML', 'upstream: {', 'not valid YAML'],
  ['empty', '', 'upstream'],
  ['another thing', '- 1', 'mapping'],
])('a file that is %s changes nothing', async (_, text, part) => {
  fs.writeFileSync(sidecar.file, text)
  const line = await sidecar.reload()
  expect([line.level, line.message]).toEqual([50, expect.stringContaining(part)])
  expect((await send(claim('K', 5))).status).toBe(200)
  expect(await successful()).toBe(0)
})

test('a file that is gone changes nothing', async () => {
  fs.rmSync(sidecar.file)
  expect(await sidecar.reload()).toMatchObject({ level: 50, message: expect.stringContaining('ENOENT') })
  expect((await send(claim('K', 5))).status).toBe(200)
})

test('what needs a restart is named, all of it, and nothing else is taken', async () => {
  const line = await sidecar.reload({
    limits: { connections: 5, openWrites: 6 },
    drainLimit: '5s',
    upstream: { url: other.url },
  })
  expect(line.level).toBe(50)
  for (const key of ['limits.connections', 'limits.openWrites', 'drainLimit', 'restart']) {
    expect(line.message).toContain(key)
  }
  expect(await successful()).toBe(0)
  await send(claim('K', 5))
  expect(upstream.whole).toHaveLength(1)
  await sidecar.reload({})
  expect(await successful()).toBe(1)
})

test('a write ends by the rule that it began with, and the next one by the new rule', async () => {
  const route = (handover: string) => ({ routes: [{ name: 'all', handover }] })
  for (const [began, then, status] of [
    ['drain', 'abort', 200],
    ['abort', 'drain', 502],
  ] as const) {
    await sidecar.reload(route(began))
    const held = upstream.hold()
    const lower = send(claim(began, 1))
    const cut = await held.arrived
    await sidecar.reload(route(then))
    const higher = send(claim(began, 2))
    // Drained, it is released; aborted, it is cut without.
    await until(
      async () => (await metric('fencegate_handovers_pending')) === 1 || status === 502,
      'the handover',
    )
    if (status === 200) held.release()
    else await cut.gone()
    expect([(await lower).status, (await higher).status]).toEqual([status, 200])
  }
})

test('of signals that come close together the last is not lost', async () => {
  for (const name of ['a', 'b', 'c', 'd']) {
    sidecar.configure({ routes: [{ name }] })
    sidecar.process.signal('SIGHUP')
  }
  await until(async () => {
    await send(claim('K', 5))
    return (await metric('fencegate_decisions_total', { route: 'd', decision: 'forwarded' })) > 0
  }, 'the last configuration')
})
