/** Unknown outcomes: on durable record before the successor's first write, and held until they are resolved. */
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

const marks = { k: { token: 8n, complete: true } }
const abort = { handover: 'abort' } as const
const hold = { holds: true, intent: true }
const AUTHOR = { by: 'ops', reason: 'looked at the ledger' }

function interruptionsOf(permit: Permit): Refusal[] {
  const interruptions: Refusal[] = []
  permit.onInterrupt((refusal) => interruptions.push(refusal))
  return interruptions
}

test('an unknown ending keeps the write open until its record is durable', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n)
  const successor = rig.ask(9n)
  await rig.serveAll()
  lower.release(UNKNOWN)
  expect(rig.pending).toEqual(['unknown'])
  await rig.clock.advance(HANDOVER_TIMEOUT_MS - 1) // A slow disk.
  expect(successor.answer).toBeUndefined()
  expect(rig.gate.inFlight.size).toBe(1)
  await rig.serve()
  expect(rig.disk.unresolved).toMatchObject([
    { task: 'k', token: 8n, reason: 'timeout', bytesSent: 12, route: 'settlements', operation: 'op-1' },
  ])
  await rig.serve()
  permitOf(successor)
})

test('a full disk delays the record and the successor with it; the commit is repeated', async () => {
  const rig = new GateRig({ marks, handoverTimeoutMs: 10_000 })
  const lower = await rig.begun(8n)
  const successor = rig.ask(9n)
  await rig.serveAll()
  lower.release(UNKNOWN)
  for (let attempt = 0; attempt < 3; attempt++) {
    await rig.serve('lost')
    expect(rig.pending).toEqual([])
    expect([rig.gate.inFlight.size, rig.disk.writes.size]).toEqual([1, 0])
    await rig.clock.advance(1_000)
    expect(rig.pending).toEqual(['unknown'])
  }
  expect(successor.answer).toBeUndefined()
  await rig.serveAll()
  permitOf(successor)
  expect(rig.disk.unresolved).toHaveLength(1)
})

test('answered and unsent writes without an intent leave nothing on record', async () => {
  const rig = new GateRig({ marks })
  ;(await rig.begun(8n)).release(ANSWERED)
  ;(await rig.permit(8n)).release(NOT_SENT)
  expect(rig.pending).toEqual([])
  expect(rig.disk.writes.size).toBe(0)
})

test('an intent becomes the unknown outcome of the same id', async () => {
  const rig = new GateRig({ marks })
  const asked = rig.ask(8n, { intent: true })
  await rig.serveAll()
  const permit = permitOf(asked)
  permit.begin()
  permit.release(UNKNOWN)
  await rig.serve()
  expect([...rig.disk.writes.keys()]).toEqual([asked.admission.id])
  expect(rig.disk.unresolved).toHaveLength(1)
})

test('proceed: the successor passes an unknown write that is on record', async () => {
  const rig = new GateRig({ marks })
  ;(await rig.begun(8n)).release(UNKNOWN)
  await rig.serveAll()
  await rig.permit(9n)
})

test('hold: the next holder is told which records keep it out, until each is resolved', async () => {
  const rig = new GateRig({ marks })
  const asked = [rig.ask(8n, hold), rig.ask(8n, hold)]
  await rig.serveAll()
  for (const each of asked) {
    permitOf(each).begin()
    permitOf(each).release(UNKNOWN)
  }
  await rig.serveAll()
  const ids = asked.map(({ admission }) => admission.id)
  const refusal = await rig.refusal(9n)
  expect(refusal).toMatchObject({ code: 'handover-held', highest: 9n, held: ids, retryAfterSeconds: 1 })
  expect(rig.disk.mark('k'), 'the mark is raised all the same').toMatchObject({ token: 9n, complete: true })
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token' })
  for (const [i, id] of ids.entries()) {
    expect(await rig.refusal(9n)).toMatchObject({ held: ids.slice(i) })
    const resolved = rig.operator.resolve(id, 'applied', AUTHOR)
    await rig.serveAll()
    await resolved
  }
  await rig.permit(9n)
})

test('hold does not keep out the holder whose write it was', async () => {
  const rig = new GateRig({ marks })
  ;(await rig.begun(8n, hold)).release(UNKNOWN)
  await rig.serveAll()
  await rig.permit(8n)
})

test('a held write outlives the memory: it is read back with the mark', async () => {
  const rig = new GateRig({ marks, cachedTasks: 1 })
  ;(await rig.begun(8n, hold)).release(UNKNOWN)
  await rig.serveAll()
  ;(await rig.permit(1n, 'other')).release(NOT_SENT)
  const asked = rig.ask(9n)
  await settled()
  expect(rig.pending).toEqual(['load'])
  await rig.serveAll()
  expect(refusalOf(asked)).toMatchObject({ code: 'handover-held' })
})

test('twenty ids are listed at most, however many hold', async () => {
  const rig = new GateRig({ marks })
  for (let i = 0; i < 25; i++) (await rig.begun(8n, hold)).release(UNKNOWN)
  await rig.serveAll()
  const refusal = await rig.refusal(9n)
  expect(refusal.held).toHaveLength(20)
  expect(refusal.detail).toContain('25 earlier writes were')
})

test('a held write that becomes durable while the raise commits is not lost', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n, hold)
  const raise = rig.ask(9n)
  await settled()
  lower.release(UNKNOWN)
  expect(rig.pending).toEqual(['record 9', 'unknown'])
  rig.store.pending[1]?.serve('done')
  await settled()
  await rig.serveAll()
  expect(refusalOf(raise)).toMatchObject({ code: 'handover-held' })
})

test('a held write that a load has seen already is held once', async () => {
  const rig = new GateRig({ marks })
  const lower = rig.ask(8n, hold)
  await rig.serveAll()
  permitOf(lower).begin()
  rig.ask(9n)
  await rig.serve('lost') // The state is forgotten.
  permitOf(lower).release(UNKNOWN)
  const asked = rig.ask(9n)
  await settled()
  expect(rig.pending).toEqual(['unknown', 'load'])
  await rig.serveAll()
  expect(refusalOf(asked).held).toEqual([lower.admission.id])
})

test('a held write that a load has not seen is held', async () => {
  const rig = new GateRig({ marks })
  const lower = rig.ask(8n, hold)
  await rig.serveAll()
  permitOf(lower).begin()
  rig.ask(9n)
  await rig.serve('lost')
  permitOf(lower).release(UNKNOWN)
  const asked = rig.ask(9n)
  await settled()
  for (const operation of rig.store.pending.toReversed()) operation.serve('done')
  await rig.serveAll()
  expect(refusalOf(asked).held).toEqual([lower.admission.id])
})

test('abort cuts begun lower writes at once; the successor waits until their records are durable', async () => {
  const rig = new GateRig({ marks })
  const [cut, drained] = [await rig.begun(8n, abort), await rig.begun(8n)]
  const [cutOff, waitedFor] = [interruptionsOf(cut), interruptionsOf(drained)]
  const successor = rig.ask(9n)
  await settled()
  expect(cutOff, 'the raise is not durable').toEqual([])
  await rig.serve()
  expect(cutOff).toMatchObject([{ code: 'superseded', token: 8n, highest: 9n }])
  expect(waitedFor, 'its own route says drain').toEqual([])
  drained.release(ANSWERED)
  cut.release({ outcome: 'unknown', reason: 'superseded', bytesSent: 4 })
  await settled()
  expect(rig.pending).toEqual(['unknown'])
  expect(successor.answer).toBeUndefined()
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete'])
  expect(rig.disk.unresolved).toMatchObject([{ token: 8n, reason: 'superseded' }])
  await rig.serve()
  permitOf(successor)
})

test('abort revokes what has not begun like any other rule', async () => {
  const rig = new GateRig({ marks })
  const permit = await rig.permit(8n, abort)
  const interruptions = interruptionsOf(permit)
  await rig.permit(9n)
  expect(interruptions).toMatchObject([{ code: 'stale-token' }])
  expect(permit.begin()).toBe(false)
})

test('a write of the successor is not cut by its own handover', async () => {
  const rig = new GateRig({ marks })
  const interruptions = interruptionsOf(await rig.begun(9n, abort))
  await rig.permit(9n)
  await rig.clock.advance(2 * DRAIN_LIMIT_MS)
  expect(interruptions).toEqual([])
})

test('the gate closes when the endings are on record', async () => {
  const rig = new GateRig({ marks })
  ;(await rig.begun(8n)).release(UNKNOWN)
  let closed = false
  const closing = rig.gate.close().then(() => {
    closed = true
  })
  await settled()
  expect(closed).toBe(false)
  await rig.serve()
  await closing
  expect(rig.gate.quiet).toBe(true)
  expect(rig.disk.unresolved).toHaveLength(1)
})

test('a full disk does not keep the gate from closing; the write stays open, so the stop is no clean one', async () => {
  const rig = new GateRig({ marks })
  ;(await rig.begun(8n)).release(UNKNOWN)
  const closing = rig.gate.close()
  await rig.serve('lost')
  await closing
  expect(rig.pending).toEqual([])
  expect(rig.gate.quiet).toBe(false)
})
