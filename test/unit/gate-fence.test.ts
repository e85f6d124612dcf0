/** Fencing a holder out, and what keeps operators from marks that no write could pass. */
import { expect, test } from 'vitest'
import { ActError } from '../../src/gate/act-error.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { GateRig, permitOf, UNKNOWN } from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const marks = { k: { token: 8n, complete: true, holder: 'a' } }
const AUTHOR = { by: 'ops', reason: 'two holders seen' }

test('fence freezes and raises by exactly one, in one commit', async () => {
  const rig = new GateRig({ marks })
  const held = await rig.permit(8n)
  const fence = rig.operator.fence('k', AUTHOR, 8n)
  await settled()
  expect(rig.pending).toEqual(['record 9 + frozen + act'])
  const { record } = await rig.done(fence)
  expect(record).toMatchObject({ frozen: true, mark: { token: 9n, recorded: true, holder: undefined } })
  expect(held.begin()).toBe(false)
  expect(rig.disk.acts).toMatchObject([{ kind: 'fence', task: 'k', token: 9n, ...AUTHOR }])
  await rig.done(rig.operator.thaw('k', AUTHOR))
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token', highest: 9n })
  await rig.permit(9n, { holder: 'b' })
})

test('fenced again, it is raised no further', async () => {
  const rig = new GateRig({ marks })
  await rig.done(rig.operator.fence('k', AUTHOR, 8n))
  const { record } = await rig.done(rig.operator.fence('k', AUTHOR, 8n))
  expect(record).toMatchObject({ frozen: true, mark: { token: 9n } })
  expect(rig.disk.mark('k').token).toBe(9n)
})

test('a mark that has moved since the caller looked is not fenced past', async () => {
  const rig = new GateRig({ marks })
  for (const token of [7n, 9n]) {
    await expect(rig.done(rig.operator.fence('k', AUTHOR, token))).rejects.toThrow(/is 8, not/)
  }
  expect([rig.disk.frozen.size, rig.disk.acts]).toEqual([0, []])
})

test('a floor can be fenced too', async () => {
  const rig = new GateRig({ floor: 40n })
  await rig.done(rig.operator.fence('new', AUTHOR, 40n))
  expect(rig.disk.mark('new')).toMatchObject({ token: 41n, recorded: true })
})

test('no mark gets where no write could pass it', async () => {
  const rig = new GateRig({ marks: { k: { token: MAX_TOKEN, complete: true } } })
  await expect(rig.done(rig.operator.fence('k', AUTHOR, MAX_TOKEN))).rejects.toThrow(/above claim.maxToken/)
  await expect(rig.done(rig.operator.raise('other', AUTHOR, MAX_TOKEN + 1n))).rejects.toThrow(ActError)
  expect(rig.disk.frozen.size).toBe(0)
})

test('what is under way can be looked at', async () => {
  const rig = new GateRig({ marks })
  await rig.begun(8n)
  await rig.clock.advance(30)
  rig.ask(9n)
  await rig.serveAll()
  await rig.clock.advance(20)
  const busy = { task: 'k', openWrites: 1, oldestOpenWriteMs: 50, handover: { waitedMs: 20 } }
  expect(rig.gate.view.busy()).toEqual([busy])
  expect(rig.gate.view.task('k')).toEqual(busy)
  expect(rig.gate.view.open('k')).toMatchObject([{ ageMs: 50, admission: { claim: { token: 8n } } }])
  expect(rig.gate.view.handoversPending).toBe(1)
  expect(rig.gate.view.task('other')).toMatchObject({ openWrites: 0, handover: undefined })
})

test('an unknown write whose operation is being attempted again is not resolved meanwhile', async () => {
  const rig = new GateRig({ marks })
  const asked = rig.ask(8n, { holds: true, intent: true })
  await rig.serveAll()
  permitOf(asked).begin()
  permitOf(asked).release(UNKNOWN)
  await rig.serveAll()
  const again = rig.attempt(8n)
  await rig.serveAll()
  const resolve = () => rig.operator.resolve(asked.admission.id, 'applied', AUTHOR)
  await expect(rig.done(resolve())).rejects.toThrow(/is being attempted again/)
  permitOf(again).release({ outcome: 'not-sent' })
  await rig.serveAll()
  expect(await rig.done(resolve())).toMatchObject({ resolution: 'applied' })
})
