/** The disk that holds the marks is really full: who is refused, who is served, and what is true afterwards. */
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { exchange, type RawAnswer } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar, serve, settings } from '../support/sidecar.ts'
import { SmallDisk } from './small-disk.ts'

const upstream = await RecordingUpstream.start()
afterAll(() => upstream.close())

let disk: SmallDisk
let sidecar: Sidecar

beforeEach(async () => {
  upstream.forget()
  disk = new SmallDisk(4)
  sidecar = await Sidecar.start({ upstream: upstream.url }, disk.data)
  expect((await write('k', 8)).status).toBe(200)
})

afterEach(async () => {
  await sidecar.kill()
  disk.unmount()
})

const write = (task: string, token: number): Promise<RawAnswer> =>
  exchange(sidecar.port, claim(task, token, { body: `${token}` }))

/** The bodies that the resource has received. */
const received = () => upstream.whole.map(({ body }) => body.text)

it('refuses what needs room, sends nothing of it, and serves the rest', async () => {
  disk.fill()
  const before = upstream.bytesReceived
  const refused = await write('k', 9)
  refusal(refused, 503, 'store-unavailable')
  expect(refused.values('retry-after')).toEqual(['1'])
  expect(upstream.bytesReceived).toBe(before)
  expect((await write('k', 8)).status).toBe(200)
  expect((await exchange(sidecar.port, { method: 'GET' })).status).toBe(200)
  expect((await sidecar.admin('/livez')).status).toBe(200)
  expect((await sidecar.metrics()).sum('fencegate_decisions_total', { decision: 'store-unavailable' })).toBe(
    1,
  )
})

it('forgets nothing that it sent, whatever found room and whatever did not', async () => {
  disk.fill()
  const tokens = Array.from({ length: 40 }, (_, i) => 100 + i)
  const answers = await Promise.all(tokens.map((token) => write(`new-${token}`, token)))
  for (const answer of answers) if (answer.status !== 200) refusal(answer, 503, 'store-unavailable')
  const sent = tokens.filter((_, i) => answers[i]?.status === 200)
  expect(sent.length).toBeLessThan(tokens.length)
  expect(received().slice(1).map(Number).sort()).toEqual(sent)
  await sidecar.kill()
  disk.clear()
  sidecar = await sidecar.restart()
  const lower = await Promise.all(tokens.map((token) => write(`new-${token}`, 1)))
  expect(tokens.filter((_, i) => lower[i]?.status === 412)).toEqual(sent)
})

it('raises again as soon as there is room', async () => {
  disk.fill()
  refusal(await write('k', 9), 503, 'store-unavailable')
  disk.clear()
  expect((await write('k', 9)).status).toBe(200)
  refusal(await write('k', 8), 412, 'stale-token')
  expect(received()).toEqual(['8', '9'])
})

it('gives the same verdict before and after a restart', async () => {
  disk.fill()
  refusal(await write('k', 9), 503, 'store-unavailable')
  disk.clear()
  expect((await write('k', 8)).status).toBe(200)
  expect(await sidecar.stop()).toBe(0)
  sidecar = await sidecar.restart()
  expect((await write('k', 8)).status).toBe(200)
  refusal(await write('k', 7), 412, 'stale-token')
  expect((await write('k', 9)).status).toBe(200)
  refusal(await write('k', 8), 412, 'stale-token')
})

it('does not start on a full disk after a crash, says why, and has every mark once there is room', async () => {
  disk.fill()
  refusal(await write('k', 9), 503, 'store-unavailable')
  await sidecar.kill()
  const refused = serve(settings(upstream.url, disk.data))
  expect(await refused.exitCode(30_000)).toBe(69)
  expect(refused.output).toContain('disk has room')
  disk.clear()
  sidecar = await sidecar.restart()
  refusal(await write('k', 7), 412, 'stale-token')
  expect((await write('k', 8)).status).toBe(200)
})

it('ends in order on a full disk, and has every mark at the next start', async () => {
  disk.fill()
  refusal(await write('k', 9), 503, 'store-unavailable')
  expect(await sidecar.stop()).toBe(0)
  disk.clear()
  sidecar = await sidecar.restart()
  refusal(await write('k', 7), 412, 'stale-token')
  expect((await write('k', 8)).status).toBe(200)
})
