/** A permit's life: begun at most once, never after a revocation, released exactly once. */
import { expect, test } from 'vitest'
import { EXIT, InvariantError, type Refusal } from '../../src/errors.ts'
import { Admission } from '../../src/gate/admission.ts'
import { HeldPermit } from '../../src/gate/permit.ts'
import { staleToken, superseded } from '../../src/gate/refusals.ts'
import { ANSWERED, NOT_SENT, UNKNOWN } from '../support/store-and-gate.ts'

const claim = { task: 'k', token: 8n }

function held() {
  const released: string[] = []
  const permit = new HeldPermit(
    { released: (_, { outcome }) => released.push(outcome) },
    new Admission(claim),
    0,
  )
  const interruptions: Refusal[] = []
  return { permit, released, interruptions }
}

test('begin is true once', () => {
  const { permit } = held()
  expect(permit.begun).toBe(false)
  expect(permit.begin()).toBe(true)
  expect(permit.begun).toBe(true)
  expect(permit.begin()).toBe(false)
})

test.each([ANSWERED, NOT_SENT, UNKNOWN])('a held permit may be released as $outcome', (ending) => {
  const { permit, released } = held()
  permit.release(ending)
  expect(released).toEqual([ending.outcome])
})

test('a released permit does not begin', () => {
  const { permit } = held()
  permit.release(NOT_SENT)
  expect(permit.begin()).toBe(false)
})

test('a second release is a broken invariant: exit code 70', () => {
  const { permit, released } = held()
  permit.begin()
  permit.release(ANSWERED)
  expect(() => permit.release(ANSWERED)).toThrow(InvariantError)
  expect(() => permit.release(UNKNOWN)).toThrow(expect.objectContaining({ exitCode: EXIT.invariant }))
  expect(released).toEqual(['answered'])
})

test('not-sent after begin is a broken invariant, and the permit stays open', () => {
  const { permit, released } = held()
  permit.begin()
  expect(() => permit.release(NOT_SENT)).toThrow(InvariantError)
  expect(released).toEqual([])
  permit.release(UNKNOWN)
  expect(released).toEqual(['unknown'])
})

test('a revoked permit does not begin, tells its sender why, and is released once', () => {
  const { permit, released, interruptions } = held()
  permit.onInterrupt((refusal) => interruptions.push(refusal))
  expect(permit.revoke(staleToken(claim, 9n))).toBe(true)
  expect(permit.begin()).toBe(false)
  expect(permit.begun).toBe(false)
  expect(interruptions).toMatchObject([{ code: 'stale-token', task: 'k', token: 8n, highest: 9n }])
  permit.release(NOT_SENT)
  expect(() => permit.release(NOT_SENT)).toThrow(InvariantError)
  expect(released).toEqual(['not-sent'])
})

test('a begun permit is not revoked', () => {
  const { permit, interruptions } = held()
  permit.onInterrupt((refusal) => interruptions.push(refusal))
  permit.begin()
  expect(permit.revoke(staleToken(claim, 9n))).toBe(false)
  expect(permit.begun).toBe(true)
  expect(interruptions).toEqual([])
})

test('an interruption is told once, however often the gate asks', () => {
  const { permit, interruptions } = held()
  permit.onInterrupt((refusal) => interruptions.push(refusal))
  permit.begin()
  permit.interrupt(superseded(claim, 9n))
  permit.interrupt(superseded(claim, 10n))
  expect(interruptions).toMatchObject([{ code: 'superseded', highest: 9n }])
})

test('a sender that asks too late is told at once', () => {
  const { permit, interruptions } = held()
  permit.revoke(staleToken(claim, 9n))
  permit.onInterrupt((refusal) => interruptions.push(refusal))
  expect(interruptions).toMatchObject([{ code: 'stale-token' }])
})
