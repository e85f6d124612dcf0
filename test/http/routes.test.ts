/** Routes: the path names the task, each route has its own resource, and no target is read in two ways. */
import { afterAll, expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { refusal } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const ledger = await RecordingUpstream.start()
const provider = await RecordingUpstream.start()
afterAll(() => Promise.all([ledger.close(), provider.close()]))
const sidecar = await Sidecar.start({
  upstream: ledger.url,
  config: {
    routes: [
      {
        name: 'payouts',
        match: { methods: ['POST'], path: '/payouts/{task}/*' },
        upstream: { url: provider.url },
      },
      { name: 'settlements', match: { path: '/settlements/{task}/*' } },
      { name: 'open', match: { path: '/open/*' }, guard: 'none' },
    ],
  },
})

const post = (target: string, token: number, task?: string) =>
  exchange(sidecar.port, {
    method: 'POST',
    target,
    body: '{}',
    headers: [
      ['Fencing-Token', String(token)],
      ...(task === undefined ? [] : [['Fencing-Task', task] as const]),
    ],
  })

test('one mark guards two resources', async () => {
  expect((await post('/payouts/eu/1', 8)).status).toBe(200)
  expect([provider.last.target, ledger.requests.length]).toEqual(['/payouts/eu/1', 0])
  expect(provider.last.values('host')).toEqual([provider.authority])
  expect((await post('/settlements/eu/1', 9)).status).toBe(200)
  expect(ledger.last.target).toBe('/settlements/eu/1')
  expect(refusal(await post('/payouts/eu/1', 8), 412, 'stale-token')).toMatchObject({
    task: 'eu',
    highest: '9',
  })
  expect((await post('/payouts/us/1', 1)).status).toBe(200)
})

test.each([
  '/settlements/eu/../us/1',
  '/settlements/eu%2F..%2Fus/1',
  '/settlements/eu%2Fx/1',
  '/settlements/./eu/1',
  '/settlements//eu/1',
  '//settlements/eu/1',
  '/x/../settlements/eu/1',
  '/x/%2e%2e/settlements/eu/1',
  '/%73ettlements/eu/1',
  '/open/../settlements/eu/1',
  '/open/%2e%2e/x',
  '/open%2Fx',
])('%s is ambiguous', async (target) => {
  const [before, opened] = [ledger.bytesReceived, provider.bytesReceived]
  refusal(await post(target, 100, 'K'), 400, 'ambiguous-target')
  expect([ledger.bytesReceived, provider.bytesReceived]).toEqual([before, opened])
})

test.each([
  '/settlements/eu/a%2Fb',
  '/settlements/eu//a',
  '/x//y',
  '/open/a..b',
  '/settlements/eu/a?x=/../open/',
])('%s is not', async (target) => {
  expect((await post(target, 100, 'eu')).status).toBe(200)
  expect(ledger.last.target).toBe(target)
})

test('metrics tell routes apart', async () => {
  const metrics = await sidecar.metrics()
  for (const route of ['payouts', 'settlements']) {
    expect(metrics.sum('fencegate_decisions_total', { route, decision: 'forwarded' })).toBeGreaterThan(0)
  }
  expect(metrics.sum('fencegate_stale_rejections_total', { route: 'payouts' })).toBe(1)
})
