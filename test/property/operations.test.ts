/**
 * Operations against a toy model of each, under every interleaving that fast-check thinks of: several keys, holders
 * with different tokens and without one, answers of each kind, crashes at every commit, failures of the store. A
 * failure prints its seed and path.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AttemptStep, type ClientStep, ONCE_RULES } from '../support/faulty-attempts.ts'
import type { Sightings } from '../support/faulty-oracle.ts'
import { RULES, type Step, type WorldOptions } from '../support/faulty-steps.ts'
import { FaultyWorld } from '../support/faulty-world.ts'

const RUNS = Number(process.env.FENCEGATE_PROPERTY_RUNS ?? 3000)

const options: fc.Arbitrary<WorldOptions> = fc.record({
  tasks: fc.constantFrom(1, 1, 2),
  handoverTimeoutMs: fc.constantFrom(10, 30),
  drainLimitMs: fc.constantFrom(15, 60),
  graceMs: fc.constantFrom(20, 50),
  storeTimeoutMs: fc.constantFrom(5, 40),
  cachedTasks: fc.constantFrom(1, 2),
  maxTokenJump: fc.constant(undefined),
  floor: fc.constantFrom(0n, 0n, 3n),
  limits: fc.constantFrom(
    ...[1000, 1000, 1000, 1000, 1000, 2].map((n) => ({
      openWrites: n + 1,
      openWritesPerTask: n,
      waitersPerTask: n,
    })),
  ),
  promptSenders: fc.boolean(),
  intentsComplete: fc.boolean(),
})

const pick = fc.nat(7)
/** Mostly the mark's own token: what repeats each other meets. */
const above = fc.constantFrom(-1, 0, 0, 0, 0, 0, 1, 1)
const holder = fc.constantFrom(...Array(8).fill(undefined), 'a', 'b')
const intentsComplete = fc.boolean()
const once = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat(ONCE_RULES.length - 1) },
)

const attempt: fc.Arbitrary<AttemptStep> = fc.record({
  kind: fc.constant('attempt'),
  pick,
  above: fc.oneof({ weight: 6, arbitrary: above }, { weight: 1, arbitrary: fc.constant(undefined) }),
  holder,
  rule: fc.constantFrom(0, 1, 1, 2),
  once,
  key: fc.constantFrom(1, 1, 1, 1, 2),
  quoted: fc.boolean(),
  target: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 2),
  late: fc.constantFrom(false, false, true),
  status: fc.constantFrom(200, 200, 402, 500),
})

const client: fc.Arbitrary<ClientStep> = fc.record({
  kind: fc.constantFrom('body', 'body', 'body', 'body', 'early', 'leave'),
  pick,
})

/** An outcome is said to be unknown as often as not: what comes after that is the point. */
const release: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('release'),
  pick,
  outcome: fc.constantFrom('answered', 'answered', 'unknown', 'not-sent'),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: attempt },
  { weight: 14, arbitrary: fc.record({ kind: fc.constant('flow'), rounds: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 5, arbitrary: client },
  { weight: 14, arbitrary: fc.record({ kind: fc.constant('begin'), pick }) },
  { weight: 5, arbitrary: release },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('serve'),
      pick,
      fate: fc.constantFrom('done', 'done', 'done', 'done', 'done', 'done', 'done', 'lost', 'kept'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('admit'),
      pick,
      above,
      rule: fc.nat(RULES.length - 1),
      holder,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('act'),
      act: fc.constantFrom('freeze', 'thaw', 'thaw', 'thaw to', 'raise', 'resolve', 'resolve'),
      pick,
      above,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('advance'), ms: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause'), ms: fc.integer({ min: 1, max: 80 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('crash'),
      durable: fc.nat(15),
      downMs: fc.nat(5),
      intentsComplete,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop'), intentsComplete }) },
) as fc.Arbitrary<Step>

/** A step, and how many microtasks run before the next; `undefined`: all. */
const timed = fc.record({ step, turns: fc.constantFrom(undefined, undefined, undefined, 0, 1, 2, 3, 4, 6) })

test('no interleaving sends an operation again once it is done, or two attempts of it at once', async () => {
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
  // The worlds did get into the corners that the judges look at.
  const corners = [
    'attempt',
    'attempt without a token',
    'early answer',
    'replayed',
    'operation-in-progress',
    'operation-mismatch',
    'operation-unknown',
    'operation-expired',
    'operation-done',
    'unknown after a restart',
    'passed an unknown write',
    'handover-held',
    'revoked',
    'severed',
    'crash',
    'clean stop',
    'client left',
    'store-unavailable',
  ]
  expect(corners.filter((corner) => (sightings[corner] ?? 0) < RUNS / 100)).toEqual([])
  expect(sightings['repeat of what is held'] ?? 0).toBeGreaterThan(0)
})
