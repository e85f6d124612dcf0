/** `intent: durable`: what is about to be sent is on record first, so that a crash leaves no doubt about what is in doubt. */
import { afterEach, expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { rows, unknown } from '../support/operator.ts'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import type { Settings, Sidecar } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const commits = new Commits()
afterEach(() => commits.release())
const EVERYWHERE = { routes: [{ name: 'all', intent: 'durable' }] }
const SOMEWHERE = { routes: [{ name: 'some', match: { path: '/some/*' }, intent: 'durable' }] }
const HELD = { routes: [{ name: 'held', onUnknown: 'hold' }] }
/** No grace ends within a test. */
const first = await scene({ ...EVERYWHERE, restartGrace: '10m', handoverTimeout: '300ms' }, commits.options)
const { upstream } = first
let { sidecar } = first
const send = (request: Parameters<typeof exchange>[1]) => exchange(sidecar.port, request)
const of = async (task: string) => (await unknown(sidecar)).filter((record) => record.task === task)

/** Kills the sidecar while the resource has the write. */
async function killWithin(request: Parameters<typeof exchange>[1]) {
  const held = upstream.hold()
  const write = send(request)
  write.catch(() => {})
  await held.arrived
  await sidecar.kill()
  await expect(write).rejects.toThrow()
}
async function restart(config: Settings): Promise<Sidecar> {
  sidecar = await sidecar.restart(config)
  return sidecar
}
async function stop() {
  expect(await sidecar.stop()).toBe(0)
}

test('answered and refused writes leave nothing behind', async () => {
  for (const token of [8, 8, 9]) expect((await send(claim('K', token))).status).toBe(200)
  refusal(await send(claim('K', 8)), 412, 'stale-token')
  const [low, high] = [upstream.hold(), send(claim('K', 9))]
  await low.arrived
  refusal(await send(claim('K', 10)), 503, 'handover-pending')
  low.release()
  expect((await high).status).toBe(200)
  expect((await send(claim('K', 10))).status).toBe(200)
  expect(await unknown(sidecar)).toEqual([])
  await stop()
  expect(rows(sidecar, 'writes')).toEqual([])
})

test('with intents everywhere a crash leaves its open writes as unknown, and no grace', async () => {
  await restart(EVERYWHERE)
  await killWithin(
    claim('crash', 8, {
      method: 'POST',
      target: '/a?b=c',
      headers: [
        ['Fencing-Holder', 'worker-a'],
        ['Idempotency-Key', 'op-1'],
      ],
    }),
  )
  await restart(EVERYWHERE)
  expect(await of('crash')).toEqual([
    {
      id: expect.any(String),
      task: 'crash',
      token: '8',
      holder: 'worker-a',
      holds: false,
      route: 'all',
      method: 'POST',
      target: '/a?b=c',
      operation: 'op-1',
      admittedAtMs: expect.any(Number),
      reason: 'restart',
      endedAtMs: expect.any(Number),
    },
  ])
  expect((await sidecar.metrics()).sum('fencegate_unresolved_outcomes')).toBe(1)
  expect((await send(claim('crash', 9))).status).toBe(200)
  refusal(await send(claim('crash', 8)), 412, 'stale-token')
  expect(sidecar.logs.map(({ msg }) => msg)).toContainEqual(
    expect.stringContaining('every write that was open is on record as unknown'),
  )
  await stop()
})

test.each([
  ['a raise', 'raised', 1],
  ['the mark’s own token', 'equal', 2],
])('killed at the first byte of %s: the intent is there', async (_, task, writes) => {
  await restart(EVERYWHERE)
  for (let write = 1; write < writes; write++) expect((await send(claim(task, 8))).status).toBe(200)
  // An answer may overtake the end of its intent; a permit doesn't.
  await until(async () => (await sidecar.metrics()).sum('fencegate_open_writes') === 0, 'the end on record')
  commits.slow(100)
  upstream.onFirstByte = () => sidecar.process.signal('SIGKILL')
  await expect(send(claim(task, 8))).rejects.toThrow()
  await sidecar.process.exitCode()
  commits.release()
  await restart(EVERYWHERE)
  expect(await of(task)).toEqual([expect.objectContaining({ reason: 'restart', token: '8' })])
  await stop()
})

test('under hold a crash keeps the next holder out, and only the writes’ own tasks', async () => {
  await restart(HELD)
  await killWithin(claim('held', 8))
  await restart(HELD)
  const ids = (await of('held')).map(({ id }) => id)
  expect(ids).toHaveLength(1)
  expect(refusal(await send(claim('held', 9)), 503, 'handover-held')).toMatchObject({ held: ids })
  expect((await send(claim('free', 9))).status).toBe(200)
  await stop()
})

test('with a route that has no intents, all wait out the grace; so do those after it', async () => {
  await restart(SOMEWHERE)
  await killWithin(claim('some', 8, { target: '/some/1' }))
  // The process that waits now records every intent, yet what the one before sent may still be at work.
  await restart(EVERYWHERE)
  expect(await of('some')).toEqual([expect.objectContaining({ reason: 'restart', route: 'some' })])
  const pending = refusal(await send(claim('some', 9)), 503, 'handover-pending')
  expect(pending.detail).toContain('restartGrace')
  await sidecar.kill()
  await restart(EVERYWHERE)
  refusal(await send(claim('some', 9)), 503, 'handover-pending')
  expect((await send(claim('crash', 9))).status).toBe(200)
  await sidecar.kill()
})

test('when the grace is over, intents waive the next one again', async () => {
  await restart({ ...EVERYWHERE, restartGrace: '1ms' })
  expect((await send(claim('some', 9))).status).toBe(200)
  await killWithin(claim('some', 9))
  await restart({ ...EVERYWHERE, restartGrace: '10m' })
  expect((await of('some')).map(({ token }) => token)).toEqual(['8', '9'])
  refusal(await send(claim('some', 10)), 503, 'handover-pending')
  await sidecar.kill()
})
