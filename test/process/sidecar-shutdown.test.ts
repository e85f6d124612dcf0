/** CASES 12: SIGTERM lets what is open end and what comes in time be served, and says whether it did. */
import { expect, test } from 'vitest'
import { encode, exchange, RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { type Settings, Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const { upstream } = await scene()
/** No grace would end within a test. */
const start = (config: Settings) =>
  Sidecar.start({ upstream: upstream.url, config: { restartGrace: '10m', ...config } })
const stopping = (sidecar: Sidecar) => sidecar.process.log(({ msg }) => msg === 'stopping', 'the stop')

test('an open write ends, a late one is served during the delay, and the stop is clean', async () => {
  const sidecar = await start({ shutdown: { delay: '1500ms', deadline: '20s' } })
  const old = await RawClient.connect(sidecar.port)
  expect((await old.exchange(claim('late', 8))).status).toBe(200)
  const held = upstream.hold()
  const open = exchange(sidecar.port, claim('open', 8))
  await held.arrived

  sidecar.process.signal('SIGTERM')
  await stopping(sidecar)
  expect((await sidecar.admin('/readyz')).status).toBe(503)
  expect((await sidecar.admin('/livez')).status).toBe(200)
  expect((await old.exchange(claim('late', 8))).status).toBe(200)
  expect((await exchange(sidecar.port, claim('later', 1))).status).toBe(200)
  // The delay is over when the port takes nothing more; the open write is still held then.
  await until(async () => !(await accepts(sidecar.port)), 'the port closed')
  expect(upstream.events.filter(({ what }) => what === 'answered')).toHaveLength(3)
  held.release()
  expect((await open).status).toBe(200)
  expect(await sidecar.process.exitCode()).toBe(0)

  // After a clean stop nothing waits for restartGrace, neither equal tokens nor higher ones.
  const next = await sidecar.restart()
  expect((await exchange(next.port, claim('open', 8))).status).toBe(200)
  expect((await exchange(next.port, claim('open', 9))).status).toBe(200)
  refusal(await exchange(next.port, claim('open', 8)), 412, 'stale-token')
  expect(await next.stop()).toBe(0)
})

test('a write that outlasts the deadline is cut, and the next start waits out restartGrace', async () => {
  const sidecar = await start({ shutdown: { delay: '0s', deadline: '300ms' }, handoverTimeout: '200ms' })
  expect((await exchange(sidecar.port, claim('done', 8))).status).toBe(200)
  const held = upstream.hold()
  const cut = exchange(sidecar.port, claim('cut', 8))
  cut.catch(() => {})
  await held.arrived
  sidecar.process.signal('SIGTERM')
  await cut.then(
    (answer) => refusal(answer, 502, 'outcome-unknown'),
    () => {},
  )
  await (await held.arrived).gone()
  expect(await sidecar.process.exitCode()).toBe(0)

  const next = await sidecar.restart()
  const pending = await exchange(next.port, claim('cut', 9))
  expect(refusal(pending, 503, 'handover-pending').detail).toContain('restartGrace')
  refusal(await exchange(next.port, claim('cut', 8)), 412, 'stale-token')
  // Who held a task when the last process ended goes on at once.
  expect((await exchange(next.port, claim('done', 8))).status).toBe(200)
  await next.kill()
})

test('after kill -9 raises wait for restartGrace, and go through when it has passed', async () => {
  const sidecar = await start({})
  expect((await exchange(sidecar.port, claim('crash', 8))).status).toBe(200)
  await sidecar.kill()
  const next = await sidecar.restart({ restartGrace: '1500ms', handoverTimeout: '200ms' })
  expect((await exchange(next.port, claim('crash', 8))).status).toBe(200)
  refusal(await exchange(next.port, claim('crash', 9)), 503, 'handover-pending')
  refusal(await exchange(next.port, claim('crash', 8)), 412, 'stale-token')
  await until(
    async () => (await exchange(next.port, claim('crash', 9))).status === 200,
    'the end of the grace',
  )
  expect(await next.stop()).toBe(0)
  const last = await next.restart({ restartGrace: '10m' })
  expect((await exchange(last.port, claim('crash', 10))).status).toBe(200)
  expect(await last.stop()).toBe(0)
})

test('a grace that was still running is owed by the next start', async () => {
  const sidecar = await start({})
  await sidecar.kill()
  const graced = await sidecar.restart()
  expect(await graced.stop()).toBe(0)
  const next = await graced.restart({ handoverTimeout: '200ms' })
  refusal(await exchange(next.port, claim('owed', 1)), 503, 'handover-pending')
  await next.kill()
})

test('a second signal ends it at once, uncleanly', async () => {
  const sidecar = await start({ shutdown: { delay: '0s', deadline: '60s' }, handoverTimeout: '200ms' })
  const held = upstream.hold()
  const cut = exchange(sidecar.port, claim('twice', 8))
  cut.catch(() => {})
  await held.arrived
  sidecar.process.signal('SIGTERM')
  await stopping(sidecar)
  sidecar.process.signal('SIGTERM')
  await sidecar.process.exitCode(5000)
  const next = await sidecar.restart()
  refusal(await exchange(next.port, claim('twice', 9)), 503, 'handover-pending')
  await next.kill()
})

test('an idle connection does not keep it, nor does a client that sends nothing', async () => {
  const sidecar = await start({ shutdown: { delay: '0s', deadline: '30s' } })
  const idle = await RawClient.connect(sidecar.port)
  expect((await idle.exchange(claim('idle', 1))).status).toBe(200)
  const silent = await RawClient.connect(sidecar.port)
  const partial = await RawClient.connect(sidecar.port)
  await partial.send(encode(claim('idle', 1)).subarray(0, 30))
  expect(await sidecar.stop()).toBe(0)
  for (const client of [idle, silent, partial]) await client.ended()
})

async function accepts(port: number): Promise<boolean> {
  try {
    const client = await RawClient.connect(port)
    client.close()
    return true
  } catch {
    return false
  }
}
