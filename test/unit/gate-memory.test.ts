/** What the gate keeps in memory: tasks in use, a bounded cache of idle marks, no timer without a cause. */
import { expect, test } from 'vitest'
import { ANSWERED, DRAIN_LIMIT_MS, GateRig, NOT_SENT, STORE_TIMEOUT_MS } from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const marks = {
  a: { token: 8n, complete: true },
  b: { token: 8n, complete: true },
}

test('an idle task’s mark is cached, and read again once it was evicted', async () => {
  const rig = new GateRig({ marks, cachedTasks: 1 })
  ;(await rig.permit(8n, 'a')).release(NOT_SENT)
  ;(await rig.permit(8n, 'a')).release(NOT_SENT)
  const again = rig.ask(7n, 'a')
  await settled()
  expect(rig.pending).toEqual([])
  expect(again.answer).toMatchObject({ code: 'stale-token' })
  ;(await rig.permit(8n, 'b')).release(NOT_SENT)
  rig.ask(7n, 'a')
  await settled()
  expect(rig.pending).toEqual(['load'])
})

test('a task with an open write is not evicted, however many others come by', async () => {
  const rig = new GateRig({ marks, cachedTasks: 1 })
  const open = await rig.begun(8n, 'a')
  for (let i = 0; i < 20; i++) await rig.refusal(7n, 'b')
  for (let i = 0; i < 20; i++) (await rig.permit(1n, `task-${i}`)).release(NOT_SENT)
  const raise = rig.ask(9n, 'a')
  await settled()
  expect(rig.pending, 'its open write was forgotten').toEqual(['record 9'])
  await rig.serveAll()
  expect(raise.answer).toBeUndefined()
  open.release(ANSWERED)
  await rig.serveAll()
  expect(raise.answer).not.toHaveProperty('code')
})

test('a task with an operation under way is not left, though nobody waits for it any more', async () => {
  const rig = new GateRig({ marks, cachedTasks: 1 })
  await rig.refusal(7n, 'a')
  rig.ask(9n, 'a')
  await rig.clock.advance(STORE_TIMEOUT_MS)
  expect(rig.pending).toEqual(['record 9 complete'])
  const next = rig.ask(8n, 'a')
  await settled()
  expect(next.answer, 'decided against a mark that is being replaced').toBeUndefined()
  await rig.serve()
  expect(next.answer).toMatchObject({ code: 'stale-token', highest: 9n })
})

test('a failed commit also empties the cache', async () => {
  const rig = new GateRig({ marks })
  await rig.refusal(7n, 'a')
  rig.ask(9n, 'a')
  await rig.serve('kept')
  rig.ask(8n, 'a')
  await settled()
  expect(rig.pending).toEqual(['load'])
})

test('open writes are counted from the decision to the release, with the age of the oldest', async () => {
  const rig = new GateRig({ marks })
  expect(rig.gate.inFlight.oldestSince).toBeUndefined()
  const first = await rig.permit(8n, 'a')
  await rig.clock.advance(10)
  const second = await rig.begun(8n, 'b')
  expect([rig.gate.inFlight.size, rig.gate.inFlight.oldestSince]).toEqual([2, 0])
  expect(rig.gate.quiet).toBe(false)
  first.release(NOT_SENT)
  expect([rig.gate.inFlight.size, rig.gate.inFlight.oldestSince]).toEqual([1, 10])
  second.release(ANSWERED)
  expect([rig.gate.inFlight.size, rig.gate.inFlight.oldestSince]).toEqual([0, undefined])
  expect(rig.gate.quiet).toBe(true)
})

test('a revoked permit that is released late, after its task went idle, changes nothing', async () => {
  const rig = new GateRig({ marks, cachedTasks: 1 })
  const revoked = await rig.permit(8n, 'a')
  ;(await rig.permit(9n, 'a')).release(NOT_SENT)
  await rig.refusal(7n, 'b')
  const open = await rig.begun(9n, 'a')
  revoked.release(NOT_SENT)
  expect(rig.gate.inFlight.size).toBe(1)
  open.release(ANSWERED)
  expect(rig.gate.quiet).toBe(true)
})

test('no timer is left when everything has ended', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n, 'a')
  const raise = rig.ask(9n, 'a')
  await rig.serveAll()
  expect(rig.clock.pending, 'the drain limit and the handover time-out').toBe(2)
  lower.release(ANSWERED)
  await rig.serveAll()
  expect(raise.answer).not.toHaveProperty('code')
  expect(rig.clock.pending).toBe(0)
})

test('close ends the drain limit: nobody is cut off after it', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n, 'a')
  lower.onInterrupt(() => expect.unreachable())
  rig.ask(9n, 'a')
  await rig.serveAll()
  rig.gate.close()
  await rig.clock.advance(10 * DRAIN_LIMIT_MS)
  lower.release(ANSWERED)
})
