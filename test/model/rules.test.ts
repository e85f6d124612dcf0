/**
 * Every state that the rules can reach within each scope keeps every promise, and a state of rest can be
 * reached from it. `FENCEGATE_MODEL=large` explores more, for minutes a scope.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { type Exploration, explore } from './explore.ts'
import { Rules } from './rules.ts'
import { enlarged, SCOPES } from './scopes.ts'
import { PROPERTIES, type Scope } from './words.ts'
import type { Form } from './world.ts'

const LARGE = process.env.FENCEGATE_MODEL === 'large'
const OPTIONS = LARGE ? { timeout: 3_600_000 } : {}

const explored: Exploration[] = []
const report: string[] = []

function keepsEveryPromise(rules: Rules, scope: Scope, form?: Form): void {
  const since = performance.now()
  const exploration = explore(rules, scope, PROPERTIES, form)
  const { states, transitions, counterexample } = exploration
  explored.push(exploration)
  report.push(
    `${scope.name}: ${states} states, ${transitions} steps, ${Math.round(performance.now() - since)} ms`,
  )
  expect(counterexample, counterexample?.story.join('\n')).toBeUndefined()
}

describe('the rules keep every promise', () => {
  for (const small of Object.values(SCOPES)) {
    const scope = LARGE ? enlarged(small) : small
    test(scope.name, OPTIONS, () => keepsEveryPromise(new Rules(scope), scope))
  }

  test('and within these scopes every rule is applied', () => {
    const applied = new Map<string, number>()
    for (const { applied: counts } of explored) {
      for (const [rule, count] of counts) applied.set(rule, (applied.get(rule) ?? 0) + count)
    }
    expect([...applied].filter(([, count]) => count === 0).map(([rule]) => rule)).toEqual([])
  })

  test('and do so where states are told apart exactly', () => {
    const scope = { ...SCOPES.drain, name: 'drain, exactly', crashes: 1, cleanStops: 0 }
    keepsEveryPromise(new Rules(scope), scope, 'exact')
  })

  test('and where every route records intents, whatever the length of grace', () => {
    const scope = { ...SCOPES.intents, name: 'intents, grace of any length' }
    class Hasty extends Rules {
      protected override graceOutlastsWork(): boolean {
        return true
      }
    }
    keepsEveryPromise(new Hasty(scope), scope)
  })
})

afterAll(() => {
  const total = explored.reduce((sum, { states }) => sum + states, 0)
  console.info([...report, `${total} states in all`].join('\n'))
})
