/**
 * The gate against an oracle, under every interleaving that fast-check thinks of: microtask by microtask,
 * with store failures, crashes, restarts, pauses and evictions. A failure prints its seed and path.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Permit } from '../../src/gate/permit.ts'
import { FaultyWorld, type Sightings, type Step, type WorldOptions } from '../support/faulty-world.ts'
import { GateRig } from '../support/store-and-gate.ts'

const RUNS = Number(process.env.FENCEGATE_PROPERTY_RUNS ?? 12_000)

const options: fc.Arbitrary<WorldOptions> = fc.record({
  tasks: fc.constantFrom(1, 1, 2, 3),
  handoverTimeoutMs: fc.constantFrom(10, 30),
  drainLimitMs: fc.constantFrom(15, 60),
  graceMs: fc.constantFrom(20, 50),
  storeTimeoutMs: fc.constantFrom(5, 40),
  cachedTasks: fc.constantFrom(1, 2),
  maxTokenJump: fc.constantFrom(undefined, undefined, 2n),
  floor: fc.constantFrom(0n, 0n, 3n),
  promptSenders: fc.boolean(),
})

const pick = fc.nat(7)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('admit'), pick, above: fc.integer({ min: -1, max: 3 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('begin'), pick }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('release'),
      pick,
      outcome: fc.constantFrom('answered', 'not-sent', 'unknown'),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('serve'),
      pick,
      fate: fc.constantFrom('done', 'done', 'done', 'done', 'done', 'done', 'lost', 'kept'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('advance'), ms: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause'), ms: fc.integer({ min: 1, max: 80 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('crash'), durable: fc.nat(15), downMs: fc.nat(5) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop') }) },
) as fc.Arbitrary<Step>

/** A step, and how many microtasks run before the next; `undefined`: all. */
const timed = fc.record({ step, turns: fc.constantFrom(undefined, undefined, undefined, 0, 1, 2, 3, 4, 6) })

test('no interleaving breaks order, overlap or durability, and every request is answered', async () => {
  const sightings: Sightings = {}
  await fc.assert(
    fc.asyncProperty(
      options,
      fc.array(timed, { minLength: 5, maxLength: 80, size: 'max' }),
      async (opts, story) => {
        const world = new FaultyWorld(opts, sightings)
        for (const { step, turns } of story) {
          await world.step(step)
          await world.turn(turns)
        }
        await world.finish()
      },
    ),
    { numRuns: RUNS },
  )
  // The worlds did get into the corners that the oracle judges.
  const corners = [
    'permit',
    'begin',
    'raise',
    'handover',
    'load',
    'revoked',
    'severed',
    'crash',
    'clean stop',
    'stale-token',
    'token-jump',
    'handover-pending',
    'store-unavailable',
  ]
  expect(corners.filter((corner) => (sightings[corner] ?? 0) < RUNS / 100)).toEqual([])
})

const TOKENS = Array.from({ length: 200 }, (_, i) => BigInt(i + 1))

/** How many more requests arrive, and how many of the open writes end, before each commit. */
const beat = fc.record({ arrivals: fc.integer({ min: 1, max: 60 }), ends: fc.nat(3) })

test('concurrent raises coalesce: 200 tokens in any order reach the resource in order, and 200 is the mark', async () => {
  const all = fc.shuffledSubarray(TOKENS, { minLength: TOKENS.length })
  await fc.assert(
    fc.asyncProperty(all, fc.array(beat, { minLength: 1, maxLength: 20 }), async (tokens, beats) => {
      const rig = new GateRig()
      const waiting = [...tokens]
      const open: Permit[] = []
      const sent: bigint[] = []
      const send = async (token: bigint) => {
        const answer = await rig.gate.admit({ task: 'k', token })
        if ('code' in answer) return expect(answer).toMatchObject({ code: 'stale-token' })
        if (answer.begin()) sent.push(token)
        open.push(answer)
      }
      const sending: Promise<void>[] = []
      let bursts = 0
      for (let i = 0; waiting.length > 0 || rig.store.pending.length > 0 || open.length > 0; i++) {
        expect(i, 'it does not end').toBeLessThan(1000)
        const { arrivals, ends } = beats[i % beats.length] as (typeof beats)[number]
        if (waiting.length > 0) bursts++
        for (const token of waiting.splice(0, arrivals)) sending.push(send(token))
        await rig.serve()
        for (const permit of open.splice(0, waiting.length > 0 ? ends : open.length))
          permit.release('unknown')
      }
      expect(rig.clock.pending, 'a request still waits').toBe(0)
      await Promise.all(sending)
      expect(sent).toEqual([...sent].sort((a, b) => Number(a - b)))
      expect(sent.at(-1)).toBe(200n)
      expect(rig.disk.mark('k')).toMatchObject({ token: 200n, complete: true })
      expect(rig.raisedMs.length, 'more raises than bursts of requests').toBeLessThanOrEqual(bursts)
    }),
    { numRuns: 100 },
  )
})
