/** Intents: durable before the write is sent, in the raise's own commit where they can be, and taken back. */
import { expect, test } from 'vitest'
import {
  ANSWERED,
  GateRig,
  NOT_SENT,
  permitOf,
  refusalOf,
  STORE_TIMEOUT_MS,
  UNKNOWN,
} from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const marks = { k: { token: 8n, complete: true } }
const intent = { intent: true }

test('the permit is handed out after its intent is durable, and counts as open before', async () => {
  const rig = new GateRig({ marks })
  const asked = rig.ask(8n, intent)
  await rig.serve()
  expect(rig.pending).toEqual(['intent'])
  expect(asked.answer).toBeUndefined()
  expect(rig.gate.inFlight.size).toBe(1)
  await rig.serve()
  const permit = permitOf(asked)
  expect(rig.disk.intents).toMatchObject([
    { id: asked.admission.id, task: 'k', token: 8n, operation: 'op-1' },
  ])
  permit.begin()
  permit.release(ANSWERED)
  expect(rig.pending).toEqual(['ended'])
  expect(rig.gate.inFlight.size, 'open until its ending is durable').toBe(1)
  await rig.serve()
  expect(rig.gate.inFlight.size).toBe(0)
  expect(rig.disk.intents).toEqual([])
})

test('a raise with nothing to wait for carries the intent of its first write', async () => {
  const rig = new GateRig()
  const asked = rig.ask(9n, intent)
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete + intent'])
  await rig.serve()
  permitOf(asked)
  expect(rig.disk.commitSequence).toBe(1)
  expect(rig.disk.intents).toHaveLength(1)
})

test.each([
  ['a lower write is open', { marks }],
  ['grace is running', { marks, graceMs: 100 }],
] as const)('while %s the raise carries none: it comes before the send', async (_, options) => {
  const rig = new GateRig(options)
  const lower = await rig.begun(8n)
  const asked = rig.ask(9n, intent)
  await settled()
  expect(rig.pending).toEqual(['record 9'])
  await rig.serve()
  lower.release(ANSWERED)
  await rig.clock.advance(100)
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serve()
  expect(rig.pending).toEqual(['intent'])
  await rig.serve()
  permitOf(asked)
})

test('a raise that finds a held write carries none: its own write is not permitted', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n, { ...intent, holds: true })
  lower.release(UNKNOWN)
  await rig.serveAll()
  const asked = rig.ask(9n, intent)
  await settled()
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serveAll()
  expect(refusalOf(asked)).toMatchObject({ code: 'handover-held' })
})

test('an intent that can’t be made durable: 503, and it is taken back', async () => {
  const rig = new GateRig({ marks })
  await rig.refusal(1n)
  const asked = rig.ask(8n, intent)
  await rig.serve('kept')
  expect(refusalOf(asked)).toMatchObject({ code: 'store-unavailable' })
  expect(rig.pending).toEqual(['ended'])
  await rig.serve()
  expect(rig.disk.intents).toEqual([])
  expect(rig.gate.inFlight.size).toBe(0)
})

test('an intent that takes too long: 503 now, and it is taken back when it has come', async () => {
  const rig = new GateRig({ marks })
  await rig.refusal(1n)
  const asked = rig.ask(8n, intent)
  await rig.clock.advance(STORE_TIMEOUT_MS)
  expect(refusalOf(asked)).toMatchObject({ code: 'store-unavailable' })
  expect(rig.pending).toEqual(['intent', 'ended'])
  await rig.serve()
  expect(rig.disk.intents).toEqual([])
})

test('a raise that takes too long takes its intent back', async () => {
  const rig = new GateRig({ marks })
  await rig.refusal(1n)
  const asked = rig.ask(9n, intent)
  await rig.clock.advance(STORE_TIMEOUT_MS)
  expect(refusalOf(asked)).toMatchObject({ code: 'store-unavailable' })
  await rig.serveAll()
  expect(rig.disk.mark('k').token).toBe(9n)
  expect(rig.disk.intents).toEqual([])
})

test.each(['lost', 'kept'] as const)('a raise that is %s takes its intent back', async (fate) => {
  const rig = new GateRig({ marks })
  await rig.refusal(1n)
  const asked = rig.ask(9n, intent)
  await rig.serve(fate)
  expect(refusalOf(asked)).toMatchObject({ code: 'store-unavailable' })
  await rig.serveAll()
  expect(rig.disk.intents).toEqual([])
})

test('whoever is overtaken while the intent commits is refused, and the intent taken back', async () => {
  const rig = new GateRig({ marks })
  await rig.refusal(1n)
  const overtaken = rig.ask(8n, intent)
  await settled()
  const raise = rig.ask(9n)
  await settled()
  expect(rig.pending).toEqual(['intent', 'record 9'])
  await rig.serve()
  expect(refusalOf(overtaken)).toMatchObject({ code: 'stale-token', highest: 9n })
  expect(rig.pending).toContain('ended')
  await rig.serveAll()
  permitOf(raise)
  expect(rig.disk.intents).toEqual([])
})

test('a write whose intent is in the raise’s commit is open from then on', async () => {
  const rig = new GateRig({ marks })
  const asked = rig.ask(9n, intent)
  await settled()
  await rig.serve()
  expect(rig.gate.quiet).toBe(false)
  await rig.serveAll()
  permitOf(asked).release(NOT_SENT)
  await rig.serveAll()
  expect([rig.gate.quiet, rig.disk.intents]).toEqual([true, []])
})

test('a revoked permit’s intent is taken back before its successor may write', async () => {
  const rig = new GateRig({ marks, handoverTimeoutMs: 10_000 })
  const permit = await rig.permit(8n, intent)
  const successor = rig.ask(9n)
  await rig.serveAll()
  expect(permit.begin()).toBe(false)
  permit.release(NOT_SENT)
  expect(rig.pending).toEqual(['ended'])
  await rig.serve('lost')
  await rig.clock.advance(1000)
  expect(rig.disk.intents).toHaveLength(1)
  expect(successor.answer).toBeUndefined()
  await rig.serveAll()
  expect(rig.disk.intents).toEqual([])
  permitOf(successor).release(NOT_SENT)
})

test('a write that was not sent at all takes its intent back', async () => {
  const rig = new GateRig({ marks })
  const permit = await rig.permit(8n, intent)
  permit.release(NOT_SENT)
  await rig.serveAll()
  expect(rig.disk.intents).toEqual([])
  expect(rig.disk.writes.size).toBe(0)
})

test('the gate closes after the intents are taken back', async () => {
  const rig = new GateRig({ marks })
  const permit = await rig.permit(8n, intent)
  permit.release(NOT_SENT)
  let closed = false
  const closing = rig.gate.close().then(() => {
    closed = true
  })
  await settled()
  expect(closed).toBe(false)
  await rig.serve()
  await closing
  expect(rig.disk.intents).toEqual([])
})
