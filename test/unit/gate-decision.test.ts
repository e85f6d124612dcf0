/** The decision, row by row; `complete` and openness only matter for the mark's own token. */
import { expect, test } from 'vitest'
import { decide } from '../../src/gate/decision.ts'
import { MAX_TOKEN } from '../../src/token.ts'

const complete = { token: 8n, complete: true, recorded: true }
const incomplete = { token: 8n, complete: false, recorded: true }
const floor = { token: 8n, complete: false, recorded: false }
const none = { token: 0n, complete: false, recorded: false }

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
] as const)('%s', (_, mark, lowerOpen, token, decision) => {
  expect(decide({ mark, lowerOpen, maxTokenJump: undefined }, token)).toBe(decision)
})

test('tokens are compared exactly beyond 2^53 and up to 2^63 - 1', () => {
  const at = (token: bigint) => ({
    mark: { token, complete: true, recorded: true },
    lowerOpen: false,
    maxTokenJump: undefined,
  })
  expect(decide(at(9007199254740993n), 9007199254740992n)).toBe('stale-token')
  expect(decide(at(9007199254740992n), 9007199254740993n)).toBe('raise')
  expect(decide(at(MAX_TOKEN), MAX_TOKEN - 1n)).toBe('stale-token')
  expect(decide(at(MAX_TOKEN), MAX_TOKEN)).toBe('permit')
})

test.each([
  ['at the limit', complete, 18n, 'raise'],
  ['one beyond the limit', complete, 19n, 'token-jump'],
  ['beyond it, mark incomplete', incomplete, 19n, 'token-jump'],
  ['beyond it above a floor, which is no record', floor, 1000n, 'raise'],
  ['beyond it on a task without a record', none, 1000n, 'raise'],
] as const)('a jump of 10 allowed: %s', (_, mark, token, decision) => {
  expect(decide({ mark, lowerOpen: false, maxTokenJump: 10n }, token)).toBe(decision)
})
