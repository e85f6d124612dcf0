/** Grace after an unclean stop: marks rise at once, nothing is handed over, a holder in possession goes on. */
import { expect, test } from 'vitest'
import {
  ANSWERED,
  GateRig,
  GRACE_MS,
  HANDOVER_TIMEOUT_MS,
  permitOf,
  refusalOf,
} from '../support/store-and-gate.ts'

const graceMs = GRACE_MS

test('the mark’s own token passes in grace when its handover is complete', async () => {
  const rig = new GateRig({ graceMs, marks: { k: { token: 8n, complete: true } } })
  expect(rig.gate.inGrace).toBe(true)
  await rig.permit(8n)
})

test('the mark’s own token waits for the end of grace when it is not', async () => {
  const rig = new GateRig({
    graceMs,
    handoverTimeoutMs: 2 * GRACE_MS,
    marks: { k: { token: 8n, complete: false } },
  })
  const asked = rig.ask(8n)
  await rig.serveAll()
  expect(rig.gate.view.handoversPending).toBe(1)
  await rig.clock.advance(GRACE_MS - 1)
  expect(asked.answer).toBeUndefined()
  expect(rig.pending).toEqual([])
  await rig.clock.advance(1)
  expect(rig.pending).toEqual(['record 8 complete'])
  await rig.serve()
  permitOf(asked)
  expect(rig.gate.inGrace).toBe(false)
})

test('a raise in grace is durable at once, so that the old token is stale; its first write waits', async () => {
  const rig = new GateRig({ graceMs, marks: { k: { token: 8n, complete: true } } })
  const raise = rig.ask(9n)
  await rig.serveAll()
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: false })
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token', highest: 9n })
  await rig.clock.advance(HANDOVER_TIMEOUT_MS)
  expect(refusalOf(raise)).toMatchObject({ code: 'handover-pending' })
  expect(refusalOf(raise).detail).toContain('restartGrace')
  await rig.clock.advance(GRACE_MS - HANDOVER_TIMEOUT_MS)
  await rig.permit(9n)
})

test('a task that the store has never seen waits too: its writes may have been lost with a raise', async () => {
  const rig = new GateRig({ graceMs })
  const raise = rig.ask(1n)
  await rig.serveAll()
  await rig.clock.advance(HANDOVER_TIMEOUT_MS)
  expect(refusalOf(raise)).toMatchObject({ code: 'handover-pending' })
})

test('a drain that ends in grace completes when grace ends', async () => {
  const rig = new GateRig({
    graceMs,
    handoverTimeoutMs: 2 * GRACE_MS,
    marks: { k: { token: 8n, complete: true } },
  })
  const lower = await rig.begun(8n)
  const raise = rig.ask(9n)
  await rig.serveAll()
  lower.release(ANSWERED)
  await rig.serveAll()
  expect(rig.disk.mark('k').complete).toBe(false)
  await rig.clock.advance(GRACE_MS)
  await rig.serveAll()
  permitOf(raise)
})

test('a write still open when grace ends is waited for', async () => {
  const rig = new GateRig({
    graceMs,
    handoverTimeoutMs: 2 * GRACE_MS,
    drainLimitMs: 10 * GRACE_MS,
    marks: { k: { token: 8n, complete: true } },
  })
  const lower = await rig.begun(8n)
  const raise = rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(GRACE_MS)
  await rig.serveAll()
  expect(raise.answer).toBeUndefined()
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(raise)
})

test('a raise submitted in grace and durable after it is settled at once', async () => {
  const rig = new GateRig({ graceMs, storeTimeoutMs: 10 * GRACE_MS })
  rig.ask(1n)
  await rig.serve()
  expect(rig.pending).toEqual(['record 1'])
  await rig.clock.advance(GRACE_MS)
  await rig.serve()
  expect(rig.pending).toEqual(['record 1 complete'])
})

test('grace is not quiet: a stop within it is no clean one', async () => {
  const rig = new GateRig({ graceMs })
  expect(rig.gate.quiet).toBe(false)
  await rig.clock.advance(GRACE_MS)
  expect(rig.gate.quiet).toBe(true)
  const closed = new GateRig({ graceMs })
  closed.gate.close()
  expect(closed.clock.pending).toBe(0)
  expect(closed.gate.quiet).toBe(false)
})
