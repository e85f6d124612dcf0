/** Limits of the gate: they answer, they recover, and they keep no successor out. */
import { expect, test } from 'vitest'
import { ANSWERED, type Asked, GateRig, NOT_SENT, permitOf, refusalOf } from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const marks = { k: { token: 8n, complete: true }, other: { token: 1n, complete: true } }
const ROOMY = { openWrites: 100, openWritesPerTask: 100, waitersPerTask: 100 }
const OVERLOADED = { code: 'overloaded', retryAfterSeconds: 1 }

test('open writes of a task: one more is refused, and taken again once one has ended', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, openWritesPerTask: 2 } })
  const [first] = [await rig.begun(8n), await rig.begun(8n)]
  const third = rig.ask(8n)
  const elsewhere = rig.ask(1n, 'other')
  await rig.serveAll()
  expect(refusalOf(third)).toMatchObject({
    ...OVERLOADED,
    detail: expect.stringContaining('openWritesPerTask'),
  })
  permitOf(elsewhere)
  first.release(ANSWERED)
  await rig.permit(8n)
})

test('open writes in all: every task counts, and so does a revoked write whose intent is on record', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, openWrites: 2 } })
  const intended = await rig.permit(8n, { intent: true })
  await rig.begun(8n)
  const third = rig.ask(1n, 'other')
  await rig.serveAll()
  expect(refusalOf(third)).toMatchObject({ ...OVERLOADED, detail: expect.stringContaining('openWrites ') })
  intended.release(NOT_SENT)
  await rig.serveAll()
  await rig.permit(1n, 'other')
})

test('a successor is recorded, and waits, however many lower writes are open', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, openWritesPerTask: 1 } })
  const lower = await rig.begun(8n)
  const successor = rig.ask(9n, { intent: true })
  await rig.serveAll()
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: false })
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(successor)
})

test('a raise of a task in a full sidecar takes no intent with it', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, openWrites: 1 } })
  const open = await rig.begun(1n, 'other')
  const raise = rig.ask(9n, { intent: true })
  await rig.serveAll()
  expect(refusalOf(raise)).toMatchObject(OVERLOADED)
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: true })
  expect(rig.disk.intents).toEqual([])
  open.release(ANSWERED)
  await rig.permit(9n)
})

test('waiters of a task: one more of the same token is refused, a higher one is not', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, waitersPerTask: 2 } })
  const lower = await rig.begun(8n)
  const waiting = [rig.ask(9n), rig.ask(9n)]
  await rig.serveAll()
  const third = rig.ask(9n)
  const higher = rig.ask(10n)
  await rig.serveAll()
  expect(refusalOf(third)).toMatchObject({ ...OVERLOADED, detail: expect.stringContaining('waitersPerTask') })
  for (const one of waiting) expect(refusalOf(one)).toMatchObject({ code: 'stale-token', highest: 10n })
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(higher)
})

test('waiters of a task: while a raise commits, one more of its token is refused, a higher one is not', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, waitersPerTask: 2 } })
  await rig.permit(8n)
  const raising = [rig.ask(9n), rig.ask(9n)]
  await settled()
  expect(rig.pending).toEqual(['record 9'])
  const late = [rig.ask(9n), rig.ask(10n), rig.ask(10n), rig.ask(9n)]
  await rig.serveAll()
  for (const one of [late[0], late[2], late[3]]) expect(refusalOf(one as Asked)).toMatchObject(OVERLOADED)
  for (const one of raising) permitOf(one)
  expect(rig.disk.mark('k')).toMatchObject({ token: 10n })
})

test('waiters of a task whose mark is being read: one above them all waits too', async () => {
  const rig = new GateRig({ marks, limits: { ...ROOMY, waitersPerTask: 2 } })
  const lower = [rig.ask(8n), rig.ask(8n), rig.ask(8n)]
  const higher = [rig.ask(9n), rig.ask(9n)]
  await rig.serveAll()
  expect(refusalOf(lower[2] as Asked)).toMatchObject(OVERLOADED)
  expect(refusalOf(higher[1] as Asked)).toMatchObject(OVERLOADED)
  permitOf(higher[0] as Asked)
})

test('a token that is refused for its size keeps nobody out behind it', async () => {
  const rig = new GateRig({ marks, maxTokenJump: 10n, limits: { ...ROOMY, waitersPerTask: 1 } })
  const lower = await rig.begun(8n)
  const waiting = rig.ask(9n)
  await rig.serveAll()
  expect(await rig.refusal(1000n)).toMatchObject({ code: 'token-jump' })
  const higher = rig.ask(10n)
  await rig.serveAll()
  expect(refusalOf(waiting)).toMatchObject({ code: 'stale-token' })
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(higher)
})
