/** Operators' acts: durable with their record in one commit, and serialised with all else of the task. */
import { expect, test } from 'vitest'
import type { Refusal } from '../../src/errors.ts'
import { ActError } from '../../src/gate/act-error.ts'
import { StoreError } from '../../src/store/mark-store.ts'
import {
  ANSWERED,
  GateRig,
  GRACE_MS,
  NOT_SENT,
  permitOf,
  refusalOf,
  STORE_TIMEOUT_MS,
  UNKNOWN,
} from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const marks = { k: { token: 8n, complete: true } }
const AUTHOR = { by: 'ops', reason: 'two holders seen' }

/** What an act came to, so far. */
function outcomeOf<T>(act: Promise<T>): { value?: T; error?: unknown } {
  const outcome: { value?: T; error?: unknown } = {}
  act.then(
    (value) => {
      outcome.value = value
    },
    (error) => {
      outcome.error = error
    },
  )
  return outcome
}

test('a freeze answers once durable, revokes what has not begun, and lists what is at work', async () => {
  const rig = new GateRig({ marks })
  const begun = rig.ask(8n)
  await rig.serveAll()
  permitOf(begun).begin()
  const held = await rig.permit(8n)
  const interruptions: Refusal[] = []
  held.onInterrupt((refusal) => interruptions.push(refusal))
  await rig.clock.advance(70)
  const freeze = outcomeOf(rig.operator.freeze('k', AUTHOR))
  await settled()
  expect(rig.pending).toEqual(['frozen + act'])
  expect([freeze, interruptions]).toEqual([{}, []])
  await rig.serve()
  expect(freeze.value?.open).toEqual([{ admission: begun.admission, ageMs: 70 }])
  expect(interruptions).toMatchObject([{ code: 'task-frozen' }])
  expect(held.begin()).toBe(false)
  held.release(NOT_SENT)
  expect(rig.disk.acts).toMatchObject([{ kind: 'freeze', task: 'k', token: undefined, ...AUTHOR }])
  expect(await rig.refusal(8n)).toMatchObject({ code: 'task-frozen', retryAfterSeconds: 1 })
  expect(await rig.refusal(9n)).toMatchObject({ code: 'task-frozen' })
  expect(await rig.refusal(7n)).toMatchObject({ code: 'task-frozen' })
  expect(rig.disk.mark('k').token, 'a refused raise is not recorded').toBe(8n)
  permitOf(begun).release(ANSWERED)
})

test('a request that waits while the freeze commits is refused', async () => {
  const rig = new GateRig({ marks })
  await rig.begun(8n)
  const waiting = rig.ask(9n)
  await rig.serveAll()
  const freeze = rig.operator.freeze('k', AUTHOR)
  const during = rig.ask(9n)
  await rig.done(freeze)
  expect(refusalOf(waiting)).toMatchObject({ code: 'task-frozen' })
  expect(refusalOf(during)).toMatchObject({ code: 'task-frozen' })
})

test('a frozen task is frozen after its state was forgotten, and others are not', async () => {
  const rig = new GateRig({ marks, cachedTasks: 1 })
  await rig.done(rig.operator.freeze('k', AUTHOR))
  ;(await rig.permit(1n, 'other')).release(NOT_SENT)
  expect(await rig.refusal(8n)).toMatchObject({ code: 'task-frozen' })
})

test('a freeze that failed freezes nothing', async () => {
  const rig = new GateRig({ marks })
  await rig.permit(8n)
  const freeze = outcomeOf(rig.operator.freeze('k', AUTHOR))
  await rig.serve('lost')
  expect(freeze.error).toBeInstanceOf(StoreError)
  await rig.permit(8n)
  expect(rig.disk.acts).toEqual([])
})

test('an act that takes too long is an error', async () => {
  const rig = new GateRig({ marks })
  const freeze = outcomeOf(rig.operator.freeze('k', AUTHOR))
  await rig.clock.advance(STORE_TIMEOUT_MS)
  expect(freeze.error).toBeInstanceOf(StoreError)
})

test('an act waits for what is under way, and is not stopped by its failure', async () => {
  const rig = new GateRig({ marks })
  await rig.permit(8n)
  rig.ask(9n)
  await settled()
  const freeze = outcomeOf(rig.operator.freeze('k', AUTHOR))
  await settled()
  expect(rig.pending).toEqual(['record 9'])
  await rig.serve('lost')
  await rig.serveAll()
  expect(freeze.value).toMatchObject({ open: [], record: { frozen: true } })
  expect(rig.disk.frozen.has('k')).toBe(true)
})

test('a thaw lets writes through again', async () => {
  const rig = new GateRig({ marks })
  await rig.done(rig.operator.freeze('k', AUTHOR))
  await rig.done(rig.operator.thaw('k', AUTHOR))
  await rig.permit(8n)
  expect(rig.disk.acts.map(({ kind }) => kind)).toEqual(['freeze', 'thaw'])
})

test('a thaw with the elected holder’s token raises to it in the same commit', async () => {
  const rig = new GateRig({ marks })
  await rig.done(rig.operator.freeze('k', AUTHOR))
  const thaw = rig.operator.thaw('k', AUTHOR, 11n)
  await settled()
  expect(rig.pending).toEqual(['record 11 complete + thawed + act'])
  await rig.done(thaw)
  expect(rig.disk.acts.at(-1)).toMatchObject({ kind: 'thaw', token: 11n })
  expect(await rig.refusal(10n)).toMatchObject({ code: 'stale-token', highest: 11n })
  await rig.permit(11n)
})

test('a thaw to a token that has a write open below it drains first', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n)
  await rig.done(rig.operator.freeze('k', AUTHOR))
  const listed = await rig.done(rig.operator.thaw('k', AUTHOR, 11n))
  expect(listed.open).toHaveLength(1)
  expect(rig.disk.mark('k')).toMatchObject({ token: 11n, complete: false })
  const successor = rig.ask(11n)
  await rig.serveAll()
  expect(successor.answer).toBeUndefined()
  lower.release(UNKNOWN)
  await rig.serveAll()
  permitOf(successor)
})

test('a thaw to a token below the mark changes nothing', async () => {
  const rig = new GateRig({ marks })
  await rig.done(rig.operator.freeze('k', AUTHOR))
  await expect(rig.done(rig.operator.thaw('k', AUTHOR, 7n))).rejects.toThrow(ActError)
  expect(rig.disk.frozen.has('k')).toBe(true)
  expect(rig.disk.acts).toHaveLength(1)
})

test('an operator’s raise revokes and drains like a holder’s, and forgets the holder', async () => {
  const rig = new GateRig({ marks: { k: { token: 8n, complete: true, holder: 'a' } } })
  const [held, begun] = [await rig.permit(8n), await rig.begun(8n)]
  await rig.done(rig.operator.raise('k', AUTHOR, 12n))
  expect(held.begin()).toBe(false)
  expect(rig.disk.mark('k')).toMatchObject({ token: 12n, complete: false, holder: undefined })
  expect(rig.disk.acts).toMatchObject([{ kind: 'raise', token: 12n, ...AUTHOR }])
  begun.release(ANSWERED)
  await rig.serveAll()
  expect(rig.disk.mark('k').complete).toBe(true)
  await rig.permit(12n, { holder: 'b' })
})

test('a raise to the mark itself records the act alone; one below the mark is refused', async () => {
  const rig = new GateRig({ marks })
  const same = rig.operator.raise('k', AUTHOR, 8n)
  await rig.serve()
  expect(rig.pending).toEqual(['act'])
  await rig.done(same)
  await expect(rig.done(rig.operator.raise('k', AUTHOR, 7n))).rejects.toThrow(/8 already, above 7/)
  expect(rig.disk.acts).toHaveLength(1)
})

test('a raise to a floor records it; in grace it is not complete', async () => {
  const rig = new GateRig({ floor: 5n, graceMs: GRACE_MS })
  await rig.done(rig.operator.raise('k', AUTHOR, 5n))
  expect(rig.disk.mark('k')).toMatchObject({ token: 5n, recorded: true, complete: false })
})

async function heldWrite(rig: GateRig): Promise<string> {
  const asked = rig.ask(8n, { holds: true, intent: true })
  await rig.serveAll()
  permitOf(asked).begin()
  permitOf(asked).release(UNKNOWN)
  await rig.serveAll()
  return asked.admission.id
}

test('a resolution is durable with its act; the same again changes nothing, another is refused', async () => {
  const rig = new GateRig({ marks })
  const id = await heldWrite(rig)
  const resolved = await rig.done(rig.operator.resolve(id, 'not-applied', AUTHOR))
  expect(resolved).toMatchObject({ id, resolution: 'not-applied', resolvedBy: 'ops', note: AUTHOR.reason })
  expect(rig.disk.unknownWrite(id)).toMatchObject({ resolution: 'not-applied', resolvedBy: 'ops' })
  expect(rig.disk.acts).toMatchObject([{ kind: 'resolve', task: 'k', ...AUTHOR }])
  const { commitSequence } = rig.disk
  expect(await rig.done(rig.operator.resolve(id, 'not-applied', AUTHOR))).toMatchObject({ id })
  await expect(rig.done(rig.operator.resolve(id, 'applied', AUTHOR))).rejects.toThrow(
    /resolved as not-applied by ops; it stays so/,
  )
  expect(rig.disk.commitSequence).toBe(commitSequence)
  await rig.permit(9n)
})

test('a resolution that failed leaves the write held', async () => {
  const rig = new GateRig({ marks })
  const id = await heldWrite(rig)
  const resolve = outcomeOf(rig.operator.resolve(id, 'applied', AUTHOR))
  await rig.serve()
  expect(rig.pending).toEqual(['resolved + act'])
  await rig.serve('lost')
  expect(resolve.error).toBeInstanceOf(StoreError)
  expect(await rig.refusal(9n)).toMatchObject({ code: 'handover-held', held: [id] })
})

test('what is not an unknown write can’t be resolved: no record, or an intent that is open', async () => {
  const rig = new GateRig({ marks })
  await expect(rig.done(rig.operator.resolve('none', 'applied', AUTHOR))).rejects.toThrow(/no record none/)
  const open = rig.ask(8n, { intent: true })
  await rig.serveAll()
  const resolve = rig.operator.resolve(open.admission.id, 'applied', AUTHOR)
  await expect(rig.done(resolve)).rejects.toThrow(ActError)
  expect(rig.disk.acts).toEqual([])
})

test('a write whose outcome becomes unknown while another is resolved stays held', async () => {
  const rig = new GateRig({ marks })
  const second = await rig.begun(8n, { holds: true, intent: true })
  const first = await heldWrite(rig)
  const resolve = rig.operator.resolve(first, 'compensated', AUTHOR)
  await rig.serve()
  second.release(UNKNOWN)
  expect(rig.pending).toEqual(['resolved + act', 'unknown'])
  rig.store.pending[1]?.serve('done')
  await settled()
  await rig.done(resolve)
  const refusal = await rig.refusal(9n)
  expect(refusal).toMatchObject({ code: 'handover-held' })
  expect(refusal.held).toHaveLength(1)
})

test('bodies are erased in one commit with the act, and the task goes on as it was', async () => {
  const rig = new GateRig({ marks })
  const begun = await rig.begun(8n)
  const erase = rig.operator.erase('k', AUTHOR)
  await settled()
  expect(rig.pending).toEqual(['erase-bodies + act'])
  expect(await rig.done(erase)).toMatchObject({ open: [{ admission: { claim: { token: 8n } } }] })
  expect(rig.disk.acts).toMatchObject([{ kind: 'erase', task: 'k', token: undefined, ...AUTHOR }])
  begun.release(ANSWERED)
  ;(await rig.permit(8n)).release(NOT_SENT)
})

test('an act goes before requests that would raise again and again', async () => {
  const rig = new GateRig({ marks })
  rig.ask(9n)
  await settled()
  const freeze = rig.operator.freeze('k', AUTHOR)
  let frozen = false
  void freeze.then(() => {
    frozen = true
  })
  let token = 10n
  for (let commits = 0; commits < 50 && !frozen; commits++) {
    rig.ask(token++)
    await rig.serve()
  }
  expect(frozen).toBe(true)
  expect(rig.disk.mark('k').token).toBeLessThan(13n)
})
