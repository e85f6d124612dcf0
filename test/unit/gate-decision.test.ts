/** The decision, row by row; `complete` and openness only matter for the mark's own token. */
import { expect, test } from 'vitest'
import { type Decision, decide } from '../../src/gate/decision.ts'
import type { Mark } from '../../src/store/mark-store.ts'
import { MAX_TOKEN, type Token } from '../../src/token.ts'

const mark = (token: bigint, complete: boolean, recorded = true) => ({
  token,
  complete,
  recorded,
  holder: undefined,
})
const complete = mark(8n, true)
const incomplete = mark(8n, false)
const floor = mark(8n, false, false)
const none = mark(0n, false, false)

/** What is decided for a claim of a task of which no more is on record than a mark. */
function decided(on: Mark, lowerOpen: boolean, token: Token, maxTokenJump?: Token): Decision {
  const record = { mark: on, frozen: false, held: [] }
  return decide({ record, lowerOpen, maxTokenJump }, { task: 'k', token })
}

test.each([
  ['below a complete mark', complete, false, 7n, 'stale-token'],
  ['below an incomplete mark', incomplete, true, 7n, 'stale-token'],
  ['below a floor', floor, false, 7n, 'stale-token'],
  ['equal, complete', complete, false, 8n, 'permit'],
  ['equal, complete, in grace', complete, true, 8n, 'permit'],
  ['equal, incomplete, a lower write open', incomplete, true, 8n, 'drain'],
  ['equal, incomplete, nothing lower open', incomplete, false, 8n, 'settle'],
  ['equal to a floor', floor, false, 8n, 'settle'],
  ['equal to a floor in grace', floor, true, 8n, 'drain'],
  ['above', complete, false, 9n, 'raise'],
  ['above, lower writes open', incomplete, true, 9n, 'raise'],
  ['above a floor', floor, false, 9n, 'raise'],
  ['the first token of a task', none, false, 1n, 'raise'],
  ['the first token of a task in grace', none, true, 1n, 'raise'],
] as const)('%s', (_, on, lowerOpen, token, decision) => {
  expect(decided(on, lowerOpen, token)).toBe(decision)
})

test('tokens are compared exactly beyond 2^53 and up to 2^63 - 1', () => {
  expect(decided(mark(9007199254740993n, true), false, 9007199254740992n)).toBe('stale-token')
  expect(decided(mark(9007199254740992n, true), false, 9007199254740993n)).toBe('raise')
  expect(decided(mark(MAX_TOKEN, true), false, MAX_TOKEN - 1n)).toBe('stale-token')
  expect(decided(mark(MAX_TOKEN, true), false, MAX_TOKEN)).toBe('permit')
})

test.each([
  ['at the limit', complete, 18n, 'raise'],
  ['one beyond the limit', complete, 19n, 'token-jump'],
  ['beyond it, mark incomplete', incomplete, 19n, 'token-jump'],
  ['beyond it above a floor, which is no record', floor, 1000n, 'raise'],
  ['beyond it on a task without a record', none, 1000n, 'raise'],
] as const)('a jump of 10 allowed: %s', (_, on, token, decision) => {
  expect(decided(on, false, token, 10n)).toBe(decision)
})

const named = { ...complete, holder: 'a' }
const held = [{ id: 'w', token: 7n }]

test.each([
  ['frozen, a stale token', { frozen: true }, 7n, undefined, 'task-frozen'],
  ['frozen, the mark’s token', { frozen: true }, 8n, undefined, 'task-frozen'],
  ['frozen, a raise', { frozen: true }, 9n, undefined, 'task-frozen'],
  ['the holder on record', { mark: named }, 8n, 'a', 'permit'],
  ['another holder', { mark: named }, 8n, 'b', 'token-conflict'],
  ['another holder in a handover', { mark: { ...incomplete, holder: 'a' } }, 8n, 'b', 'token-conflict'],
  ['nobody in particular', { mark: named }, 8n, undefined, 'permit'],
  ['the first holder that names itself', {}, 8n, 'a', 'name'],
  ['another holder with a higher token', { mark: named }, 9n, 'b', 'raise'],
  ['another holder with a lower token', { mark: named }, 7n, 'b', 'stale-token'],
  ['a lower write held', { held }, 8n, undefined, 'handover-held'],
  ['a lower write held, not yet drained', { mark: incomplete, held }, 8n, undefined, 'drain'],
  ['a lower write held, a raise', { held }, 9n, undefined, 'raise'],
  ['a write of its own token held', { held: [{ id: 'w', token: 8n }] }, 8n, undefined, 'permit'],
] as const)('%s', (_, state, token, holder, decision) => {
  const record = { mark: complete, frozen: false, held: [], ...state }
  const claim = { task: 'k', token, ...(holder !== undefined && { holder }) }
  expect(decide({ record, lowerOpen: true, maxTokenJump: undefined }, claim)).toBe(decision)
})
