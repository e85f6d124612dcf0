/** Connections to a resource that a reload leaves behind: there for whoever still needs them, and closed after that. */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { encode, exchange, RawClient } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { type Settings, Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const [a, b, c] = (await Promise.all([1, 2, 3].map(() => RecordingUpstream.start()))) as [
  RecordingUpstream,
  RecordingUpstream,
  RecordingUpstream,
]
const all = [a, b, c]
beforeEach(() => {
  for (const upstream of all) upstream.forget()
})
afterAll(() => Promise.all(all.map((upstream) => upstream.close())))

// Idle connections would stay for longer than any test.
const config: Settings = { upstream: { keepAliveTimeout: '10m' }, reloadInterval: '0s' }
const sidecar = await Sidecar.start({ upstream: a.url, config })
const send = (...request: Parameters<typeof claim>) => exchange(sidecar.port, claim(...request))
const to = ({ url }: RecordingUpstream, own: Settings = {}) => sidecar.reload({ upstream: { url, ...own } })
const open = ({ connections }: RecordingUpstream) => connections.filter(({ ended }) => !ended).length
const closed = (upstream: RecordingUpstream) =>
  upstream.changes.when(() => open(upstream) === 0, 'the old connections closed')

test('idle connections to a resource that is no longer named close at once', async () => {
  await send('idle', 1)
  expect(open(a)).toBe(1)
  await to(b)
  await closed(a)
  await send('idle', 1)
  expect([a.whole.length, b.whole.length]).toEqual([1, 1])
})

test('those that are still named stay', async () => {
  await to(b, { via: true })
  const before = b.connections.length
  await send('stays', 1)
  expect(b.connections.length).toBe(before + 1)
  await sidecar.reload({ upstream: { url: b.url, via: true }, revealHighest: false })
  await send('stays', 1)
  expect(b.connections.length).toBe(before + 1)
})

test('a write that waits for a handover while two reloads happen goes where it was going, and then it is over', async () => {
  await to(a)
  const held = a.hold()
  const lower = send('waits', 1)
  await held.arrived
  const higher = send('waits', 2)
  await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'the handover')
  await to(b)
  await to(c)
  await send('elsewhere', 1)
  expect(c.whole).toHaveLength(1)
  held.release()
  expect([(await lower).status, (await higher).status]).toEqual([200, 200])
  expect(a.whole.map((request) => request.values('fencing-token'))).toEqual([['1'], ['2']])
  await closed(a)
  expect([open(b), open(c)]).toEqual([0, 1])
})

test('so does one whose body has not begun, and one that waits for a connection', async () => {
  await to(a, { connections: 1 })
  const held = a.hold()
  const first = send('full-1', 1)
  await held.arrived
  const second = send('full-2', 1)
  const client = await RawClient.connect(sidecar.port)
  const bytes = encode(claim('late', 1, { body: 'late' }))
  await client.send(bytes.subarray(0, -4))
  await until(async () => (await sidecar.metrics()).sum('fencegate_open_writes') === 3, 'the permits')
  await to(b)
  await to(c)
  await client.send(bytes.subarray(-4))
  held.release()
  expect([(await first).status, (await second).status]).toEqual([200, 200])
  expect((await client.answer()).status).toBe(200)
  expect(a.whole).toHaveLength(3)
  client.close()
  await closed(a)
})

test('a plan that comes back finds its resource, while requests of its first time are open', async () => {
  await to(a)
  const held = a.hold()
  const long = send('long', 1)
  await held.arrived
  await to(b)
  await to(a)
  expect((await send('back', 1)).status).toBe(200)
  await to(b)
  expect((await send('back', 1)).status).toBe(200)
  held.release()
  expect((await long).status).toBe(200)
  await closed(a)
})

test('one whose client has left is waited for', async () => {
  await to(a)
  const held = a.hold()
  const client = await RawClient.connect(sidecar.port)
  void client.send(encode(claim('left', 1)))
  await held.arrived
  await to(b)
  client.close()
  const next = send('left', 2)
  await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'the handover')
  held.release()
  expect((await next).status).toBe(200)
  await closed(a)
  expect([a.whole.length, b.whole.length]).toEqual([1, 1])
})

test('requests that wait behind one another on a connection that is cut hold nothing back', async () => {
  await to(a)
  const held = a.hold()
  const client = await RawClient.connect(sidecar.port)
  void client.send(Buffer.concat(['1', '2', '3'].map((token) => encode(claim('behind', token)))))
  const first = await held.arrived
  await to(b)
  client.close()
  held.release()
  await first.gone()
  await closed(a)
})

test('a stop cuts what is open under an old plan too', async () => {
  const own = await Sidecar.start({
    upstream: a.url,
    config: { ...config, shutdown: { delay: '0s', deadline: '200ms' } },
  })
  const held = a.hold()
  const cut = exchange(own.port, claim('cut', 1)).then(
    (answer) => refusal(answer, 502, 'outcome-unknown'),
    () => undefined,
  )
  const at = await held.arrived
  await own.reload({ upstream: { url: b.url } })
  expect((await exchange(own.port, claim('new', 1))).status).toBe(200)
  expect(await own.stop()).toBe(0)
  await cut
  await at.gone()
  expect(own.logs.at(-1)).toMatchObject({ msg: 'stopped', clean: false })
})
