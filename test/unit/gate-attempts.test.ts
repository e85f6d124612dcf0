/** Attempts of operations in the gate, one story each; `test/property/operations.test.ts` has all of them. */
import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import type { Refusal } from '../../src/errors.ts'
import type { Admission } from '../../src/gate/admission.ts'
import type { Permit } from '../../src/gate/permit.ts'
import type { AttemptRecord } from '../../src/journal/operations.ts'
import { NO_TOKEN, type Token } from '../../src/token.ts'
import { DRAIN_LIMIT_MS, GateRig, UNKNOWN } from '../support/store-and-gate.ts'
import { attemptRecord } from '../support/store-operations.ts'

const OPEN = { token: 5n, complete: true } as const

class Rig extends GateRig {
  record({ id, attempt, claim }: Admission): AttemptRecord {
    return attemptRecord(id, attempt?.id, { token: claim.token })
  }

  /** Asks and serves until it may be sent, which its intent is on record for. */
  async begin(token: Token, key: string): Promise<Permit> {
    const { admission, answer } = await this.admitted(token, key)
    const intended = this.gate.attempts.intend(admission, this.record(admission))
    await this.serveAll()
    expect(await intended).toBeUndefined()
    assert.ok(answer.begin())
    return answer
  }

  async admitted(token: Token, key: string): Promise<{ admission: Admission; answer: Permit }> {
    const { admission, answer } = await this.#answered(token, key)
    assert.ok(answer && !('code' in answer), 'refused')
    return { admission, answer }
  }

  async refused(token: Token, key: string): Promise<Refusal> {
    const { answer } = await this.#answered(token, key)
    assert.ok(answer && 'code' in answer, 'not refused')
    return answer
  }

  async #answered(token: Token, key: string) {
    const asked = this.attempt(token, key)
    await this.serveAll()
    return asked
  }
}

test('what was revoked while its body came leaves nothing on record', async () => {
  const rig = new Rig({ marks: { k: OPEN } })
  const { admission, answer } = await rig.admitted(5n, 'a')
  await rig.permit(6n)
  await rig.begin(6n, 'a')
  const late = rig.gate.attempts.intend(admission, rig.record(admission))
  expect(rig.pending).toEqual([])
  expect(await late).toMatchObject({ code: 'stale-token' })
  answer.release({ outcome: 'not-sent' })
  expect([rig.pending, rig.disk.intents.length]).toEqual([[], 1])
})

test('an attempt that the task’s state was lost under does not pass what it can’t see', async () => {
  const rig = new Rig({ marks: { k: OPEN } })
  const lower = await rig.begin(5n, 'unknown')
  lower.release(UNKNOWN)
  rig.ask(6n)
  await rig.serveAll()
  expect(await rig.refused(6n, 'other')).toMatchObject({ code: 'handover-held' })
  const other = rig.attempt(6n, 'other')
  rig.ask(7n)
  await null
  const [look, raise] = rig.store.pending
  expect(rig.pending).toEqual(['read', 'record 7'])
  raise?.serve('lost')
  await null
  look?.serve('done')
  await rig.serveAll()
  expect(other.answer).toMatchObject({ code: 'store-unavailable' })
})

test('writes without a token leave a task alone that nobody has taken over', async () => {
  const rig = new Rig({ floor: 9n })
  const [first, second] = [await rig.begin(NO_TOKEN, 'a'), await rig.admitted(NO_TOKEN, 'b')]
  first.release({ outcome: 'answered' })
  await rig.serveAll()
  expect(second.answer.begin()).toBe(true)
  await rig.clock.advance(DRAIN_LIMIT_MS)
  expect(rig.gate.view.handoversPending).toBe(0)
})

test('a holder whose token is the floor waits for writes without one, and is let in', async () => {
  const rig = new Rig({ floor: 9n })
  const lower = await rig.begin(NO_TOKEN, 'a')
  const interrupted: Refusal[] = []
  lower.onInterrupt((refusal) => interrupted.push(refusal))
  const holder = rig.ask(9n)
  await rig.serveAll()
  expect([rig.disk.mark('k'), holder.answer]).toMatchObject([{ token: 9n, complete: false }, undefined])
  expect(await rig.refused(NO_TOKEN, 'b').catch(() => 'waits')).toBe('waits')
  await rig.clock.advance(DRAIN_LIMIT_MS)
  expect(interrupted).toMatchObject([{ code: 'superseded', highest: 9n }])
})

test('a write without a token is told what it waits for', async () => {
  const rig = new Rig({ marks: { k: OPEN } })
  const lost = await rig.begin(5n, 'unknown')
  lost.release(UNKNOWN)
  await rig.serveAll()
  const held = rig.disk.unresolved.map(({ id }) => id)
  expect(held).toHaveLength(1)
  expect(await rig.refused(NO_TOKEN, 'other')).toMatchObject({ code: 'handover-held', held })
  expect((await rig.admitted(NO_TOKEN, 'unknown')).answer.begin()).toBe(true)
})
