/** Setting a poisoned mark lower: in two steps, of a task of which nothing can be at work. */
import { expect, test } from 'vitest'
import { ANSWERED, GateRig, GRACE_MS, permitOf, UNKNOWN } from '../support/store-and-gate.ts'

const POISONED = 9_000_000_000n
const marks = { k: { token: POISONED, complete: true } }
const AUTHOR = { by: 'ops', reason: 'a worker sent its clock as its token' }

const frozen = async (options: ConstructorParameters<typeof GateRig>[0] = { marks }) => {
  const rig = new GateRig(options)
  await rig.done(rig.operator.freeze('k', AUTHOR))
  return rig
}
const ask = (rig: GateRig, to = 12n) => rig.done(rig.operator.askReset('k', to))

test('the first step changes nothing; the second sets the mark, on record as what it is', async () => {
  const rig = await frozen()
  const asked = await ask(rig)
  expect(asked).toMatchObject({ task: 'k', mark: POISONED, to: 12n, expiresInMs: 300_000 })
  expect(rig.disk.mark('k').token).toBe(POISONED)
  const { record } = await rig.done(rig.operator.reset('k', 12n, asked.confirm, AUTHOR))
  expect(record).toMatchObject({ frozen: true, mark: { token: 12n, complete: true } })
  expect(rig.disk.mark('k')).toMatchObject({ token: 12n, complete: true })
  const details = { from: POISONED, to: 12n, breaks: 'P1' }
  expect(rig.disk.acts.at(-1)).toMatchObject({ kind: 'reset', task: 'k', token: 12n, details, ...AUTHOR })
  await rig.done(rig.operator.thaw('k', AUTHOR))
  expect(await rig.refusal(11n)).toMatchObject({ code: 'stale-token', highest: 12n })
  await rig.permit(13n)
})

test('the second step again changes nothing', async () => {
  const rig = await frozen()
  const { confirm } = await ask(rig)
  await rig.done(rig.operator.reset('k', 12n, confirm, AUTHOR))
  const { commitSequence } = rig.disk
  await rig.done(rig.operator.reset('k', 12n, confirm, AUTHOR))
  expect([rig.disk.commitSequence, rig.disk.acts.length]).toEqual([commitSequence, 2])
})

test('a code is for one task, one mark and five minutes', async () => {
  const rig = await frozen()
  const { confirm } = await ask(rig)
  const reset = (to: bigint, code: string) => rig.done(rig.operator.reset('k', to, code, AUTHOR))
  await expect(reset(11n, confirm)).rejects.toThrow(/ask anew/)
  await expect(reset(12n, 'another')).rejects.toThrow(/ask anew/)
  await rig.done(rig.operator.raise('k', AUTHOR, POISONED + 1n))
  await expect(reset(12n, confirm)).rejects.toThrow(/by now/)
  const second = await ask(rig)
  await rig.clock.advance(second.expiresInMs + 1)
  await expect(reset(12n, second.confirm)).rejects.toThrow(/too old/)
  expect(rig.disk.mark('k').token).toBe(POISONED + 1n)
})

test('refused of a task that is not frozen, and to a mark that is not lower', async () => {
  const rig = await frozen()
  await expect(ask(rig, POISONED)).rejects.toThrow(/not above/)
  await rig.done(rig.operator.thaw('k', AUTHOR))
  await expect(ask(rig)).rejects.toThrow(/freeze it first/)
})

test('refused while a write is open, and until its unknown outcome is resolved', async () => {
  const rig = new GateRig({ marks })
  const open = rig.ask(POISONED, { holds: false, intent: true })
  await rig.serveAll()
  permitOf(open).begin()
  await rig.done(rig.operator.freeze('k', AUTHOR))
  await expect(ask(rig)).rejects.toThrow(/1 open write/)
  permitOf(open).release(UNKNOWN)
  await rig.serveAll()
  await expect(ask(rig)).rejects.toThrow(/outcome is unknown/)
  await rig.done(rig.operator.resolve(open.admission.id, 'applied', AUTHOR))
  await ask(rig)
})

test('an outcome that becomes unknown between the steps stops the second', async () => {
  const rig = await frozen()
  const { confirm } = await ask(rig)
  await rig.done(rig.operator.thaw('k', AUTHOR))
  const open = rig.ask(POISONED, { intent: true })
  await rig.serveAll()
  permitOf(open).begin()
  permitOf(open).release(UNKNOWN)
  await rig.done(rig.operator.freeze('k', AUTHOR))
  await expect(rig.done(rig.operator.reset('k', 12n, confirm, AUTHOR))).rejects.toThrow(/outcome is unknown/)
  expect(rig.disk.mark('k').token).toBe(POISONED)
  await rig.done(rig.operator.thaw('k', AUTHOR))
  ;(await rig.permit(POISONED)).release(ANSWERED)
})

test('refused in grace, and where the task has no mark of its own', async () => {
  const rig = await frozen({ marks, graceMs: GRACE_MS })
  await expect(ask(rig)).rejects.toThrow(/restartGrace/)
  await rig.clock.advance(GRACE_MS)
  await ask(rig)
  const floored = await frozen({ floor: POISONED })
  await expect(ask(floored)).rejects.toThrow(/only the floor/)
})
