/** Holders of one token told apart by the name they give, and announcements. */
import { expect, test } from 'vitest'
import type { Refusal } from '../../src/errors.ts'
import {
  ANSWERED,
  GateRig,
  HANDOVER_TIMEOUT_MS,
  permitOf,
  refusalOf,
  UNKNOWN,
} from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const marks = { k: { token: 8n, complete: true } }

test('a raise records its holder; the same token from another is a conflict, from nobody is not', async () => {
  const rig = new GateRig({ marks })
  await rig.permit(9n, { holder: 'a' })
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, holder: 'a' })
  expect(await rig.refusal(9n, { holder: 'b' })).toMatchObject({ code: 'token-conflict', highest: 9n })
  await rig.permit(9n, { holder: 'a' })
  await rig.permit(9n)
  expect(rig.disk.commitSequence).toBe(1)
})

test('the first holder that names itself is recorded before it is permitted', async () => {
  const rig = new GateRig({ marks })
  await rig.permit(8n)
  const asked = [rig.ask(8n, { holder: 'a' }), rig.ask(8n, { holder: 'b' })]
  await settled()
  expect(rig.pending).toEqual(['record 8 complete'])
  expect(asked.map(({ answer }) => answer)).toEqual([undefined, undefined])
  await rig.serve()
  permitOf(asked[0] as (typeof asked)[0])
  expect(refusalOf(asked[1] as (typeof asked)[0])).toMatchObject({ code: 'token-conflict' })
  expect(rig.disk.mark('k')).toMatchObject({ token: 8n, complete: true, holder: 'a' })
})

test('a name that can’t be recorded is no permit', async () => {
  const rig = new GateRig({ marks })
  await rig.permit(8n)
  const asked = rig.ask(8n, { holder: 'a' })
  await rig.serve('lost')
  expect(refusalOf(asked)).toMatchObject({ code: 'store-unavailable' })
})

test('the holder is kept when the drain ends, and forgotten with its token', async () => {
  const rig = new GateRig({ marks })
  const lower = await rig.begun(8n)
  const asked = rig.ask(9n, { holder: 'a' })
  await rig.serveAll()
  lower.release(ANSWERED)
  await rig.serveAll()
  permitOf(asked)
  expect(rig.disk.mark('k')).toMatchObject({ complete: true, holder: 'a' })
  await rig.permit(10n, { holder: 'b' })
  expect(rig.disk.mark('k')).toMatchObject({ token: 10n, holder: 'b' })
})

function announce(rig: GateRig, token: bigint): { answer: Refusal | 'done' | undefined } {
  const asked: { answer: Refusal | 'done' | undefined } = { answer: undefined }
  rig.gate.announce({ task: 'k', token }).then((refusal) => {
    asked.answer = refusal ?? 'done'
  })
  return asked
}

test('an announcement raises, revokes and drains, and leaves nothing open', async () => {
  const rig = new GateRig({ marks })
  const [held, begun] = [await rig.permit(8n), await rig.begun(8n)]
  const announced = announce(rig, 9n)
  await rig.serveAll()
  expect(rig.disk.mark('k')).toMatchObject({ token: 9n, complete: false })
  expect(held.begin()).toBe(false)
  expect(announced.answer).toBeUndefined()
  begun.release(ANSWERED)
  await rig.serveAll()
  expect(announced.answer).toBe('done')
  expect(rig.disk.mark('k').complete).toBe(true)
  expect(rig.gate.inFlight.size).toBe(0)
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token', highest: 9n })
  await rig.permit(9n)
})

test('an announcement gets the refusals of a write', async () => {
  const rig = new GateRig({ marks })
  const stale = announce(rig, 7n)
  await rig.serveAll()
  expect(stale.answer).toMatchObject({ code: 'stale-token', highest: 8n })
  const lower = await rig.begun(8n, { holds: true, intent: true })
  const pending = announce(rig, 9n)
  await rig.serveAll()
  await rig.clock.advance(HANDOVER_TIMEOUT_MS)
  expect(pending.answer).toMatchObject({ code: 'handover-pending' })
  lower.release(UNKNOWN)
  await rig.serveAll()
  const held = announce(rig, 9n)
  await rig.serveAll()
  expect(held.answer).toMatchObject({ code: 'handover-held' })
})
