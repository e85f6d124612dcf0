/** Handovers: what has not begun is revoked, what has begun is waited for, and not for ever. */
import { expect, test } from 'vitest'
import type { Refusal } from '../../src/errors.ts'
import type { Permit } from '../../src/gate/permit.ts'
import {
  ANSWERED,
  DRAIN_LIMIT_MS,
  GateRig,
  HANDOVER_TIMEOUT_MS,
  NOT_SENT,
  permitOf,
  refusalOf,
  UNKNOWN,
} from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const mark8 = { k: { token: 8n, complete: true } }

function interruptionsOf(permit: Permit): Refusal[] {
  const interruptions: Refusal[] = []
  permit.onInterrupt((refusal) => interruptions.push(refusal))
  return interruptions
}

test('a raise waits for begun lower writes; its completion is on record before its first write', async () => {
  const rig = new GateRig({ marks: mark8 })
  const [first, second] = [await rig.begun(8n), await rig.begun(8n)]
  const raise = rig.ask(9n)
  await rig.serveAll()
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: false })
  expect(rig.gate.view.handoversPending).toBe(1)
  first.release(ANSWERED)
  await rig.serveAll()
  expect(raise.answer).toBeUndefined()
  second.release(UNKNOWN)
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serve('lost')
  expect(refusalOf(raise), 'the completion was not recorded').toMatchObject({ code: 'store-unavailable' })
  const again = rig.ask(9n)
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete'])
  expect(again.answer).toBeUndefined()
  await rig.serve()
  permitOf(again)
  expect(rig.gate.view.handoversPending).toBe(0)
})

test('what has not begun is revoked by a durable raise, not by one that is under way', async () => {
  const rig = new GateRig({ marks: mark8 })
  const [early, late] = [await rig.permit(8n), await rig.permit(8n)]
  const interruptions = interruptionsOf(late)
  rig.ask(9n)
  await rig.serve('lost')
  expect(early.begin(), 'the raise failed').toBe(true)
  early.release(ANSWERED)
  const raise = rig.ask(9n)
  await rig.serveAll()
  expect(late.begin()).toBe(false)
  expect(interruptions).toMatchObject([{ code: 'stale-token', token: 8n, highest: 9n }])
  permitOf(raise)
  expect(rig.gate.inFlight.size, 'a revoked permit is not open').toBe(1)
  late.release(NOT_SENT)
  expect(rig.gate.inFlight.size).toBe(1)
})

test('a write that begins while the raise commits is found open and waited for', async () => {
  const rig = new GateRig({ marks: mark8 })
  const lower = await rig.permit(8n)
  const raise = rig.ask(9n)
  await settled()
  expect(rig.pending).toEqual(['record 9'])
  expect(lower.begin()).toBe(true)
  await rig.serveAll()
  expect(raise.answer).toBeUndefined()
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(raise)
})

test('handover-pending after handoverTimeout; the mark stays raised; the next attempt may succeed', async () => {
  const rig = new GateRig({ marks: mark8 })
  const lower = await rig.begun(8n)
  const raise = rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(HANDOVER_TIMEOUT_MS - 1)
  expect(raise.answer).toBeUndefined()
  await rig.clock.advance(1)
  const refusal = refusalOf(raise)
  expect(refusal).toMatchObject({ code: 'handover-pending', token: 9n, highest: 9n, retryAfterSeconds: 1 })
  expect(refusal.detail).not.toContain('restartGrace')
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token', highest: 9n })
  lower.release(ANSWERED)
  await rig.permit(9n)
})

test('the end of a drain is recorded with nobody waiting', async () => {
  const rig = new GateRig({ marks: mark8 })
  const lower = await rig.begun(8n)
  const raise = rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(HANDOVER_TIMEOUT_MS)
  refusalOf(raise)
  lower.release(ANSWERED)
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serveAll()
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: true })
  expect(rig.handedOverMs).toEqual([HANDOVER_TIMEOUT_MS])
})

test('after drainLimit each begun lower write is interrupted exactly once, and still waited for', async () => {
  const rig = new GateRig({ marks: mark8 })
  const [first, second] = [await rig.begun(8n), await rig.begun(8n)]
  const interruptions = [interruptionsOf(first), interruptionsOf(second)]
  rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(DRAIN_LIMIT_MS - 1)
  expect(interruptions).toEqual([[], []])
  await rig.clock.advance(1)
  const superseded = [{ code: 'superseded', token: 8n, highest: 9n }]
  expect(interruptions).toMatchObject([superseded, superseded])
  const waiting = rig.ask(9n)
  await rig.serveAll()
  first.release(UNKNOWN)
  await rig.clock.advance(HANDOVER_TIMEOUT_MS / 2)
  expect(waiting.answer).toBeUndefined()
  await rig.clock.advance(2 * DRAIN_LIMIT_MS)
  expect(interruptions).toMatchObject([superseded, superseded])
  second.release(UNKNOWN)
  await rig.serveAll()
  await rig.permit(9n)
})

test('drainLimit counts from the first raise above the open write, not from the latest', async () => {
  const rig = new GateRig({ marks: mark8 })
  const interruptions = interruptionsOf(await rig.begun(8n))
  rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(DRAIN_LIMIT_MS / 2)
  rig.ask(10n)
  await rig.serveAll()
  await rig.clock.advance(DRAIN_LIMIT_MS / 2)
  expect(interruptions).toMatchObject([{ code: 'superseded', highest: 10n }])
})

test('a failed commit does not lose the drain limit: a stalled holder is cut off all the same', async () => {
  const rig = new GateRig({ marks: mark8 })
  const interruptions = interruptionsOf(await rig.begun(8n))
  rig.ask(9n)
  await rig.serveAll()
  rig.ask(10n)
  await rig.serve('lost')
  await rig.clock.advance(DRAIN_LIMIT_MS) // Passes while the mark is not known.
  const successor = rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(DRAIN_LIMIT_MS)
  refusalOf(successor)
  expect(interruptions).toMatchObject([{ code: 'superseded', highest: 9n }])
})

test('who is cut off while a raise commits is told the highest token on record, not the one asked for', async () => {
  const rig = new GateRig({ marks: mark8, storeTimeoutMs: 2 * DRAIN_LIMIT_MS })
  const interruptions = interruptionsOf(await rig.begun(8n))
  rig.ask(9n)
  await rig.serveAll()
  rig.ask(10n)
  await rig.clock.advance(DRAIN_LIMIT_MS)
  expect(rig.pending).toEqual(['record 10'])
  expect(interruptions).toMatchObject([{ code: 'superseded', highest: 9n }])
})

test('who waits for a handover and is overtaken by a higher token is told at once', async () => {
  const rig = new GateRig({ marks: mark8 })
  await rig.begun(8n)
  const overtaken = rig.ask(9n)
  await rig.serveAll()
  rig.ask(10n)
  await rig.serveAll()
  expect(refusalOf(overtaken)).toMatchObject({ code: 'stale-token', highest: 10n })
})

test('a sender that lets go within the interruption hands over at once', async () => {
  const rig = new GateRig({ marks: mark8 })
  const lower = await rig.begun(8n)
  lower.onInterrupt(() => lower.release(UNKNOWN))
  const raise = rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(HANDOVER_TIMEOUT_MS)
  refusalOf(raise)
  await rig.clock.advance(DRAIN_LIMIT_MS - HANDOVER_TIMEOUT_MS)
  expect(rig.pending).toEqual(['unknown'])
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serve()
  expect(rig.handedOverMs).toEqual([DRAIN_LIMIT_MS])
})

test('a handover is told once, from the submission of its raise', async () => {
  const rig = new GateRig({ marks: mark8 })
  const lower = await rig.begun(8n)
  const raise = rig.ask(9n)
  await rig.clock.advance(20)
  await rig.serveAll()
  expect([rig.raisedMs, rig.handedOverMs]).toEqual([[20], []])
  await rig.clock.advance(30)
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(raise).release(NOT_SENT)
  await rig.permit(9n)
  expect([rig.raisedMs, rig.handedOverMs]).toEqual([[20], [50]])
})

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  'a release %i turns after a commit is no end of the handover',
  async (turns) => {
    const rig = new GateRig({ marks: mark8 })
    const [first, last] = [await rig.begun(8n), await rig.begun(8n)]
    rig.ask(9n)
    await settled()
    rig.store.serveAll()
    for (let i = 0; i < turns; i++) await null
    first.release({ outcome: 'answered' })
    await rig.serveAll()
    expect(rig.handedOverMs).toEqual([])
    await rig.clock.advance(HANDOVER_TIMEOUT_MS)
    last.release({ outcome: 'answered' })
    await rig.serveAll()
    expect(rig.handedOverMs).toEqual([HANDOVER_TIMEOUT_MS])
    expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: true })
  },
)

test('a handover left incomplete by a clean stop is completed by the next request', async () => {
  const rig = new GateRig({ marks: { k: { token: 8n, complete: false } } })
  const asked = rig.ask(8n)
  await rig.serve()
  expect(rig.pending).toEqual(['record 8 complete'])
  await rig.serve()
  permitOf(asked)
})
