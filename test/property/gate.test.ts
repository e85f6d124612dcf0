/**
 * The gate against an oracle, under every interleaving that fast-check thinks of: microtask by microtask,
 * with store failures, crashes, restarts, pauses and evictions. A failure prints its seed and path.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Sightings } from '../support/faulty-oracle.ts'
import { RULES, type Step, type WorldOptions } from '../support/faulty-steps.ts'
import { FaultyWorld } from '../support/faulty-world.ts'

const RUNS = Number(process.env.FENCEGATE_PROPERTY_RUNS ?? 8000)

const options: fc.Arbitrary<WorldOptions> = fc.record({
  tasks: fc.constantFrom(1, 1, 2, 3),
  handoverTimeoutMs: fc.constantFrom(10, 30),
  drainLimitMs: fc.constantFrom(15, 60),
  graceMs: fc.constantFrom(20, 50),
  storeTimeoutMs: fc.constantFrom(5, 40),
  cachedTasks: fc.constantFrom(1, 2),
  maxTokenJump: fc.constantFrom(undefined, undefined, 2n),
  floor: fc.constantFrom(0n, 0n, 3n),
  limits: fc.constantFrom(
    ...[1000, 1000, 2].map((n) => ({ openWrites: n + 1, openWritesPerTask: n, waitersPerTask: n })),
  ),
  promptSenders: fc.boolean(),
  intentsComplete: fc.boolean(),
})

const pick = fc.nat(7)
const above = fc.integer({ min: -1, max: 3 })
/** Those that hold or stand more often than the others: they go through the longest stories. */
const rule = fc.oneof(
  { weight: 3, arbitrary: fc.nat(RULES.length - 1) },
  { weight: 2, arbitrary: fc.constant(RULES.findIndex(({ holds }) => holds)) },
  { weight: 1, arbitrary: fc.constant(RULES.findIndex(({ standing }) => standing)) },
)
const holder = fc.constantFrom(undefined, undefined, undefined, 'a', 'b')
const intentsComplete = fc.boolean()

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('admit'), pick, above, rule, holder }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('announce'), pick, above, holder }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('act'),
      act: fc.constantFrom(
        'freeze',
        'freeze',
        'thaw',
        'thaw',
        'thaw to',
        'raise',
        'resolve',
        'resolve',
        'resolve',
      ),
      pick,
      above,
    }),
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
    'task-frozen',
    'token-conflict',
    'handover-held',
    'aborted',
    'raise with intent',
    'passed an unknown write',
    'unknown after a restart',
    'grace waived',
    'announcement',
    'freeze',
    'thaw to',
    'raise',
    'resolve',
    'act refused',
    'act failed',
    'overloaded',
  ]
  expect(corners.filter((corner) => (sightings[corner] ?? 0) < RUNS / 100)).toEqual([])
  expect(sightings['cut by a freeze'] ?? 0).toBeGreaterThan(0)
})
