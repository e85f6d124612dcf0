/** Raises: durable first, coalesced, in order; and what a store that fails or is slow does to them. */
import { expect, test } from 'vitest'
import { Admission } from '../../src/gate/admission.ts'
import type { Permit } from '../../src/gate/permit.ts'
import { GateRig, permitOf, refusalOf, STORE_TIMEOUT_MS, UNKNOWN } from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const mark8 = { k: { token: 8n, complete: true } }

test('the first token of a task is recorded before it is permitted, complete at once', async () => {
  const rig = new GateRig()
  const asked = rig.ask(9n)
  await settled()
  expect(rig.pending).toEqual(['load'])
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete'])
  expect(asked.answer).toBeUndefined()
  await rig.serve()
  expect(permitOf(asked).claim).toEqual({ task: 'k', token: 9n })
  expect(rig.disk.mark('k')).toEqual({ token: 9n, complete: true, recorded: true })
})

test('a token below the mark is stale and told the highest; nothing is recorded', async () => {
  const rig = new GateRig({ marks: mark8 })
  expect(await rig.refusal(7n)).toMatchObject({ code: 'stale-token', task: 'k', token: 7n, highest: 8n })
  expect(rig.disk.commitSequence).toBe(0)
})

test('the mark’s own token passes without touching the store again', async () => {
  const rig = new GateRig({ marks: mark8 })
  await rig.permit(8n)
  const asked = rig.ask(8n)
  await settled()
  expect(rig.pending).toEqual([])
  permitOf(asked)
})

test('a floor is a mark: below it stale, at it recorded first', async () => {
  const rig = new GateRig({ floor: 5n })
  expect(await rig.refusal(4n)).toMatchObject({ code: 'stale-token', highest: 5n })
  const asked = rig.ask(5n)
  await settled()
  expect(rig.pending).toEqual(['record 5 complete'])
  await rig.serve()
  permitOf(asked)
})

test('token-jump is measured against a recorded mark alone', async () => {
  const rig = new GateRig({ marks: mark8, floor: 2n, maxTokenJump: 10n })
  expect(await rig.refusal(19n)).toMatchObject({ code: 'token-jump', token: 19n, highest: 8n })
  await rig.permit(18n)
  await rig.permit(1000n, 'never recorded')
  expect(await rig.refusal(1011n, 'never recorded')).toMatchObject({ code: 'token-jump', highest: 1000n })
})

test('while a mark is loaded or raised every other request of the task waits; other tasks do not', async () => {
  const rig = new GateRig({ marks: { ...mark8, other: { token: 3n, complete: true } } })
  await rig.permit(8n)
  await rig.permit(3n, 'other')
  const raise = rig.ask(9n)
  await settled()
  const [stale, current, elsewhere] = [rig.ask(7n), rig.ask(8n), rig.ask(3n, 'other')]
  await settled()
  expect([raise.answer, stale.answer, current.answer]).toEqual([undefined, undefined, undefined])
  permitOf(elsewhere)
  await rig.serveAll()
  expect(refusalOf(stale)).toMatchObject({ code: 'stale-token', highest: 9n })
  expect(refusalOf(current)).toMatchObject({ code: 'stale-token', highest: 9n })
})

test('raises that wait for the same commit share one, and the highest wins', async () => {
  const rig = new GateRig()
  const tokens = [3n, 9n, 1n, 7n, 9n]
  const asked = tokens.map((token) => rig.ask(token))
  await rig.serve()
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serveAll()
  expect(asked.map(({ answer }) => answer && ('code' in answer ? answer.code : 'permit'))).toEqual([
    'stale-token',
    'permit',
    'stale-token',
    'stale-token',
    'permit',
  ])
  expect(rig.raisedMs).toHaveLength(1)
})

test('a raise asked for during a commit is made by the next one', async () => {
  const rig = new GateRig({ marks: mark8 })
  await rig.refusal(1n)
  const first = rig.ask(9n)
  await settled()
  const [second, third] = [rig.ask(11n), rig.ask(10n)]
  await rig.serve()
  permitOf(first)
  expect(rig.pending).toEqual(['record 11'])
  await rig.serve()
  expect(permitOf(first).begin(), 'revoked by the second raise').toBe(false)
  await rig.serveAll()
  permitOf(second)
  expect(refusalOf(third)).toMatchObject({ code: 'stale-token', highest: 11n })
})

test('200 parallel tokens, shuffled, reach the resource in order and end at 200', async () => {
  const rig = new GateRig()
  const sent: bigint[] = []
  const open: Permit[] = []
  const tokens = Array.from({ length: 200 }, (_, i) => BigInt(((i * 77) % 200) + 1))
  let ended = 0
  const ask = async (token: bigint) => {
    const answer = await rig.gate.admit(new Admission({ task: 'k', token }))
    ended++
    if ('code' in answer) return expect(answer).toMatchObject({ code: 'stale-token' })
    if (answer.begin()) sent.push(token)
    open.push(answer)
  }
  for (const [i, token] of tokens.entries()) {
    void ask(token)
    if (i % 10 !== 0) continue
    await rig.serve()
    open.shift()?.release(UNKNOWN)
  }
  while (ended < tokens.length) {
    await rig.serve()
    for (const permit of open.splice(0)) permit.release(UNKNOWN)
  }
  expect(sent.length).toBeGreaterThan(3)
  expect(sent).toEqual(sent.toSorted((a, b) => Number(a - b)))
  expect(sent.at(-1)).toBe(200n)
  expect(rig.disk.mark('k').token).toBe(200n)
  expect(rig.disk.commitSequence, 'raises were coalesced').toBeLessThan(60)
})

test('a raise that fails refuses those who needed it; the mark is read back before the next decision', async () => {
  const rig = new GateRig({ marks: mark8 })
  await rig.refusal(1n)
  const [raise, current, stale] = [rig.ask(9n), rig.ask(8n), rig.ask(7n)]
  await settled()
  permitOf(current)
  expect(rig.pending).toEqual(['record 9'])
  const during = [rig.ask(8n), rig.ask(10n), rig.ask(7n)] as const
  await rig.serve('lost')
  expect(refusalOf(raise)).toMatchObject({ code: 'store-unavailable', retryAfterSeconds: 1 })
  expect(refusalOf(during[1])).toMatchObject({ code: 'store-unavailable' })
  expect(rig.pending).toEqual(['load'])
  await rig.serve()
  permitOf(during[0])
  expect(refusalOf(during[2])).toMatchObject({ code: 'stale-token', highest: 8n })
  expect(refusalOf(stale)).toMatchObject({ code: 'stale-token', highest: 8n })
  await rig.permit(9n)
})

test('a raise that failed leaves no wish behind: a lower one after it records its own token', async () => {
  const rig = new GateRig({ marks: mark8 })
  await rig.begun(8n) // Keeps the task in use.
  rig.ask(10n)
  await rig.serve('lost')
  rig.ask(9n)
  await rig.serve()
  expect(rig.pending).toEqual(['record 9'])
})

test('a raise that was stored although it was reported failed is found by the read-back', async () => {
  const rig = new GateRig({ marks: mark8 })
  const current = await rig.permit(8n)
  rig.ask(9n)
  await rig.serve('kept')
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token', highest: 9n })
  expect(current.begin(), 'revoked by what was read back').toBe(false)
})

test('a load that fails refuses everybody who needed the mark, and the next request loads again', async () => {
  const rig = new GateRig({ marks: mark8 })
  const asked = [rig.ask(7n), rig.ask(8n), rig.ask(9n)]
  await rig.serve('lost')
  for (const each of asked) expect(refusalOf(each)).toMatchObject({ code: 'store-unavailable' })
  await rig.permit(8n)
})

test('a store that takes longer than the time-out: 503 now, and what it stores later counts', async () => {
  const rig = new GateRig({ marks: mark8 })
  await rig.refusal(1n)
  const raise = rig.ask(9n)
  await rig.clock.advance(STORE_TIMEOUT_MS - 1)
  const late = rig.ask(9n)
  expect(raise.answer).toBeUndefined()
  await rig.clock.advance(1)
  expect(refusalOf(raise)).toMatchObject({ code: 'store-unavailable' })
  expect(late.answer).toBeUndefined()
  expect(rig.pending).toEqual(['record 9 complete'])
  await rig.serve()
  permitOf(late)
  expect(await rig.refusal(8n)).toMatchObject({ code: 'stale-token', highest: 9n })
})

test('a slow store is asked once, however many wait and give up', async () => {
  const rig = new GateRig({ marks: mark8 })
  for (let i = 0; i < 5; i++) {
    const asked = rig.ask(8n)
    await rig.clock.advance(STORE_TIMEOUT_MS)
    expect(refusalOf(asked)).toMatchObject({ code: 'store-unavailable' })
  }
  expect(rig.pending).toEqual(['load'])
})
